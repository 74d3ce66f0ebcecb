"""An MCP client receives the result that the library returns, on every engine."""

import os
import sys
from pathlib import Path

import anyio
import pytest
from conformance_suite import BY_NAME
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.types import TextContent
from project.paths import ROOT

from toolc.model.names import ENGINES
from toolc.sandbox.selection import probe

NAMES = (
    "a program's stdout is the text of its success", "an exit status that is not 0 is an error with both streams",
    "bytes that are not UTF-8 are replaced and the rest is kept", "a function that takes too long is ended",
    "returned data is structured and also text", "an exception whose text cannot be read is still an error",
)  # fmt: skip


@pytest.mark.parametrize("engine", ENGINES)
def test_a_client_sees_the_same(engine: str, tmp_path: Path) -> None:
    if not (found := probe(engine)).available:
        pytest.skip(found.reason)
    cases = [BY_NAME[name] for name in NAMES]
    for case in cases:
        (tmp_path / f"{case.tool}.yaml").write_text(case.spec({}), encoding="utf-8")
    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", "toolc", "serve", str(tmp_path), "--engine", engine],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )

    async def talk() -> None:
        async with Client(stdio_client(server)) as client:
            for case in cases:
                result = await client.call_tool(case.tool, {**case.args})
                text = "".join(block.text for block in result.content if isinstance(block, TextContent))
                assert result.is_error is (case.expect.get("error") is not None), case.name
                if isinstance(expected := case.expect.get("text"), str):
                    assert text == expected, case.name
                if "structured" in case.expect:
                    assert result.structured_content == case.expect["structured"], case.name

    anyio.run(talk)
