"""``--search``: a client finds, describes and calls tools that are not in its list, with the same checks."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Literal

import pytest
from calls.fake_http import ANSWERS, ECHO, WIPE, fake_host
from calls.fake_tools import executor, registry, tool
from mcp import Client
from mcp.client.context import ClientRequestContext
from mcp.types import CallToolResult, ElicitRequestParams, ElicitResult, TextContent

from toolc.client.executor import Executor
from toolc.config.configuration import ClientSettings
from toolc.model.errors import UsageError
from toolc.model.spec.tool import Annotations
from toolc.runtime.output.truncation import READ_RESULT
from toolc.serve.http.gate import Caller
from toolc.serve.mcp import make_server
from toolc.serve.mcp_options import McpOptions
from toolc.serve.offered import SEARCH_TOOLS, check_search
from toolc.serve.search.finding_tools import FindingTools

pytestmark = pytest.mark.anyio
SAFE = replace(ECHO, tags=("safe",), description="Repeat words.", annotations=Annotations(read_only=True))
RISKY = replace(WIPE, tags=("risky",), description="Erase a disk.")


@pytest.fixture(params=["auto", "legacy"])
def mode(request: pytest.FixtureRequest) -> Literal["auto", "legacy"]:
    return "legacy" if request.param == "legacy" else "auto"


@asynccontextmanager
async def connected(
    each: Executor, mode: Literal["auto", "legacy"] = "auto", *, direct: tuple[str, ...] = ()
) -> AsyncIterator[tuple[Client, list[str]]]:
    """Yield a client, and the questions that its user has accepted."""
    asked: list[str] = []

    async def ask(context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
        asked.append(params.message)
        return ElicitResult(action="accept")

    server = make_server(each, version="1", options=McpOptions(finding=FindingTools(direct)))
    async with Client(server, mode=mode, elicitation_callback=ask) as client:
        yield client, asked


def words(result: CallToolResult) -> str:
    [block] = result.content
    assert isinstance(block, TextContent)
    return block.text


async def test_three_tools_are_listed_instead_of_all(mode: Literal["auto", "legacy"]) -> None:
    with executor(ANSWERS, SAFE, RISKY) as each:
        async with connected(each, mode) as (client, _):
            listed = (await client.list_tools()).tools
        async with connected(each, mode, direct=("safe",)) as (client, _):
            with_direct = (await client.list_tools()).tools
    assert [found.name for found in listed] == [*SEARCH_TOOLS]
    assert [found.name for found in with_direct] == [*SEARCH_TOOLS, "echo"]
    # What calls every tool is as dangerous as the most dangerous one.
    [*_, call] = listed
    assert call.annotations
    assert (call.annotations.read_only_hint, call.annotations.destructive_hint) == (False, True)


async def test_a_tool_is_found_described_and_called(mode: Literal["auto", "legacy"]) -> None:
    with executor(ANSWERS, SAFE, RISKY) as each:
        async with connected(each, mode) as (client, _):
            found = await client.call_tool("find_tools", {"query": "repeat something"})
            described = await client.call_tool("describe_tools", {"names": ["echo"]})
            called = await client.call_tool("call_tool", {"name": "echo", "arguments": {"words": "a"}})
        definitions = registry(SAFE).definitions("mcp")
    assert found.structured_content == {"tools": [{"name": "echo", "description": "Repeat words."}]}
    assert json.loads(words(found)) == found.structured_content
    assert described.structured_content == {"tools": definitions}
    assert (words(called), called.is_error) == ("a", False)


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("find_tools", {}, "wrong arguments for find_tools"),
        ("find_tools", {"query": "a" * 501}, "wrong arguments for find_tools"),
        ("find_tools", {"query": "zyx"}, "No tool matches. Try other words, or fewer."),
        ("describe_tools", {"names": ["echo", "other"]}, "there is no tool 'other'; find the names"),
        ("call_tool", {"arguments": {}}, "wrong arguments for call_tool"),
        ("call_tool", {"name": "call_tool"}, "there is no tool 'call_tool'"),
        ("call_tool", {"name": "echo"}, "wrong arguments for echo"),
    ],
)
async def test_mistakes_of_a_model_are_results_that_it_can_read(
    name: str, arguments: dict[str, object], expected: str
) -> None:
    with executor(ANSWERS, SAFE) as each:
        async with connected(each) as (client, _):
            result = await client.call_tool(name, arguments)
    assert words(result).startswith(expected)
    assert result.is_error or "zyx" in str(arguments)


async def test_the_user_confirms_a_call_as_if_it_were_direct(mode: Literal["auto", "legacy"]) -> None:
    with executor(ANSWERS, RISKY) as each:
        async with connected(each, mode) as (client, asked):
            result = await client.call_tool("call_tool", {"name": "wipe", "arguments": {"path": "a"}})
    assert (words(result), len(asked)) == ("wiped", 1)
    assert asked[0].startswith("Run the tool wipe with these arguments?")


async def test_denied_tools_are_neither_found_nor_described_nor_run() -> None:
    with executor(ANSWERS, SAFE, RISKY) as each:
        async with connected(each) as (client, asked):
            before = await client.call_tool("find_tools", {"query": "erase"})
            each.deny(tags=["risky"])
            found = await client.call_tool("find_tools", {"query": "erase"})
            described = await client.call_tool("describe_tools", {"names": ["wipe"]})
            called = await client.call_tool("call_tool", {"name": "wipe", "arguments": {"path": "a"}})
    assert before.structured_content
    assert words(found) == "No tool matches. Try other words, or fewer."
    assert described.is_error
    assert (called.is_error, asked) == (True, [])


async def test_a_client_finds_and_calls_only_tools_with_its_tags() -> None:
    host = fake_host(SAFE, RISKY, alice=ClientSettings(tags=("safe",)))
    alice = host.client_of(Caller(name="alice")).executor
    async with connected(alice) as (client, _):
        found = await client.call_tool("find_tools", {"query": "erase a disk"})
        called = await client.call_tool("call_tool", {"name": "wipe", "arguments": {"path": "a"}})
    assert words(found) == "No tool matches. Try other words, or fewer."
    assert words(called).startswith("there is no tool 'wipe'")


async def test_the_rest_of_a_long_result_can_be_read() -> None:
    with executor(ANSWERS, SAFE, keep_results=True) as each:
        async with connected(each) as (client, _):
            assert [found.name for found in (await client.list_tools()).tools] == [*SEARCH_TOOLS, READ_RESULT]


def test_names_must_not_collide_and_what_stays_in_the_list_must_exist() -> None:
    with pytest.raises(UsageError, match="--search adds a tool 'call_tool', and there is one already"):
        check_search(registry(tool("call_tool")), (), is_on=True)
    with pytest.raises(UsageError, match="--search adds a tool 'find_tools'"):
        check_search(registry(replace(ECHO, aliases=("find_tools",))), (), is_on=True)
    check_search(registry(SAFE), ["safe", "echo"], is_on=True)
    with pytest.raises(UsageError, match="--direct 'typo' is neither the name nor a tag of a tool"):
        check_search(registry(SAFE), ["typo"], is_on=True)
