"""A sub-agent for an MCP client: one tool, whose progress says what its parts do."""

from __future__ import annotations

from pathlib import Path

import pytest
from agent_tools import SAY, agent_tool, executor_of, registry_of
from mcp import Client
from mcp.types import TextContent
from scripted_model import OpenAISpeech, ScriptedModel

from toolc.serve.mcp import make_server

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def test_a_client_hears_what_a_sub_agent_does(tmp_path: Path) -> None:
    speech = OpenAISpeech()
    heard: list[tuple[float, float | None, str | None]] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        heard.append((progress, total, message))

    calls = speech.calls(("say", {"words": "one"}), ("say", {"words": "two"}))
    with ScriptedModel(script=[calls, speech.text("one, two")]) as model:
        registry = registry_of(tmp_path, agent_tool(model), SAY)
        with executor_of(registry) as executor:
            async with Client(make_server(executor, version="1")) as client:
                result = await client.call_tool("helper", {"question": "why?"}, progress_callback=hear)

    assert result.content == [TextContent(type="text", text="one, two")]
    # A client that reads slowly misses reports, and never the last.
    assert heard[-1][2] == "say"
    assert {message for _, _, message in heard} <= {"turn 1: say", "say"}
    assert [number for number, _, _ in heard] == sorted({number for number, _, _ in heard})
    assert {total for _, total, _ in heard} == {None}
