"""The README's settings for MCP clients start a server. Its other examples run in ``test_pages.py``."""

import json
from pathlib import Path

import anyio
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from pages import Page, shell_environment

README = Page.read("../README")


@pytest.mark.slow
def test_mcp_settings_start_a_server_that_lists_the_tools(tmp_path: Path) -> None:
    README.write_files(tmp_path)
    (block,) = README.blocks("json")
    (settings,) = json.loads(block.text)["mcpServers"].values()
    server = StdioServerParameters(**settings, cwd=tmp_path, env=shell_environment())

    async def list_tools() -> list[str]:
        async with Client(stdio_client(server)) as client:
            return sorted(tool.name for tool in (await client.list_tools()).tools)

    # toolc serve adds read_result, which reads the rest of a long result.
    assert anyio.run(list_tools) == ["count_words", "read_result"]


def test_the_readme_is_short() -> None:
    assert len(README.text.splitlines()) <= 125
