"""A sub-agent for an MCP client: a tool whose progress reports its calls."""

from pathlib import Path

import pytest
from mcp import Client
from mcp.types import TextContent
from models.agent_tools import SAY, agent_tool, executor_of, registry_of
from models.scripted_model import OpenAISpeech, ScriptedModel

from toolc.serve.mcp import make_server

pytestmark = pytest.mark.anyio


async def test_a_client_gets_the_progress_of_a_sub_agent(tmp_path: Path) -> None:
    speech = OpenAISpeech()
    sent: list[tuple[float, float | None, str | None]] = []

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        sent.append((progress, total, message))

    calls = speech.calls(("say", {"words": "one"}), ("say", {"words": "two"}))
    with ScriptedModel(script=[calls, speech.text("one, two")]) as model:
        registry = registry_of(tmp_path, agent_tool(model), SAY)
        with executor_of(registry) as executor:
            async with Client(make_server(executor, version="1")) as client:
                result = await client.call_tool("helper", {"question": "why?"}, progress_callback=on_progress)

    assert result.content == [TextContent(type="text", text="one, two")]
    # A slow client can miss any report but the last.
    assert sent[-1][2] == "say"
    assert {message for _, _, message in sent} <= {"turn 1: say", "say"}
    assert [number for number, _, _ in sent] == sorted({number for number, _, _ in sent})
    assert {total for _, total, _ in sent} == {None}
