"""The MCP server, called by the client of the SDK in the same process."""

import base64
import json
import re
import threading
from dataclasses import replace
from pathlib import Path
from typing import Literal

import anyio
import pytest
from calls.fake_tools import executor, registry, text, tool
from mcp import Client, MCPError
from mcp.types import AudioContent, CallToolResult, EmbeddedResource, ImageContent, TextContent

from toolc.cli.commands.serve import check_ready, usable
from toolc.model.errors import UsageError
from toolc.model.json_schema import JsonObject, JsonValue, Schema
from toolc.model.registry_io import surfaces_digest
from toolc.model.result import Audio, Image, Resource, Text, ToolResult, failure
from toolc.model.spec.http_backend import HttpBackend
from toolc.model.spec.sandbox import SandboxSpec
from toolc.model.template import Template
from toolc.providers.mcp import call_result
from toolc.serve.mcp import make_server

pytestmark = pytest.mark.anyio
ECHO = tool("echo", words={"type": "string"})
WAIT = tool("wait")
MODES: dict[str, Literal["auto", "legacy"]] = {"2026-07-28": "auto", "2025-11-25": "legacy"}


def echo(arguments: JsonObject) -> JsonObject:
    return text(str(arguments["words"]))


def to_call_result(result: ToolResult) -> CallToolResult:
    return CallToolResult.model_validate(call_result(result))


@pytest.fixture(params=MODES)
def revision(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def client(revision: str) -> Client:
    with executor({"echo": echo}, ECHO, WAIT) as each:
        return Client(make_server(each, version="1"), mode=MODES[revision])


async def test_tools_are_listed_with_their_mcp_definitions(client: Client) -> None:
    async with client:
        listed = await client.list_tools()
        tools = listed.tools
    with executor({}, ECHO, WAIT) as each:
        declared = each.registry.definitions("mcp")
        digest = surfaces_digest({found.name: each.registry.registered(found.name).surface_digest for found in tools})
    assert (listed.meta or {})["toolc/registry"] == digest
    assert [found.model_dump(by_alias=True, exclude_unset=True) for found in tools] == declared


async def test_definitions_are_portable_and_calls_are_validated_against_the_whole_schema(revision: str) -> None:
    properties: JsonObject = {"title": {"type": "string"}, "notes": {"type": "array"}}
    declared: JsonObject = {"type": "object", "properties": properties, "anyOf": [{"required": ["title"]}]}
    with executor({"wait": lambda _: text("done")}, replace(WAIT, parameters=Schema(declared))) as each:
        async with Client(make_server(each, version="1"), mode=MODES[revision]) as client:
            [listed] = (await client.list_tools()).tools
            refused = await client.call_tool("wait", {"notes": []})
            accepted = await client.call_tool("wait", {"notes": [1], "title": "a"})
    assert listed.input_schema == {
        "type": "object",
        "properties": {"title": {"type": "string"}, "notes": {"type": "array", "items": {}}},
        "description": '(anyOf: [{"required":["title"]}])',
    }
    assert (refused.is_error, accepted.is_error) == (True, False)


async def test_a_call_returns_what_the_tool_returned(client: Client) -> None:
    async with client:
        result = await client.call_tool("echo", {"words": "hello"})
    assert (result.content, result.is_error) == ([TextContent(type="text", text="hello")], False)


@pytest.mark.parametrize("data", [[1, 2], []])
async def test_the_client_accepts_data_with_a_declared_schema(data: JsonValue, revision: str) -> None:
    declared = replace(WAIT, result_schema=Schema({"type": "array", "items": {"type": "integer"}}))
    answer: JsonObject = {"content": [], "structured": [data], "details": {}}
    with executor({"wait": lambda _: answer}, declared) as each:
        async with Client(make_server(each, version="1"), mode=MODES[revision]) as client:
            result = await client.call_tool("wait", {})
    assert (result.structured_content, result.is_error) == ({"result": data}, False)


async def test_data_that_does_not_match_its_schema_is_an_error_without_structured_content(revision: str) -> None:
    declared = replace(WAIT, result_schema=Schema({"type": "object", "required": ["a"]}))
    answer: JsonObject = {"content": [], "structured": [{"b": 1}], "details": {}}
    with executor({"wait": lambda _: answer}, declared) as each:
        async with Client(make_server(each, version="1"), mode=MODES[revision]) as client:
            result = await client.call_tool("wait", {})
    assert (result.structured_content, result.is_error) == (None, True)


async def test_invalid_arguments_are_an_error_result_for_the_model(client: Client) -> None:
    async with client:
        result = await client.call_tool("echo", {"word": "hello"})
    assert result.is_error
    assert isinstance(result.content[0], TextContent)
    assert "words" in result.content[0].text


async def test_a_client_can_read_the_rest_of_a_long_result() -> None:
    words = "".join(f"{number}\n" for number in range(100_000))
    with executor({"echo": echo}, ECHO, keep_results=True) as each:
        async with Client(make_server(each, version="1")) as client:
            assert [found.name for found in (await client.list_tools()).tools] == ["echo", "read_result"]
            result = await client.call_tool("echo", {"words": words})
            assert isinstance(result.content[0], TextContent)
            hint = re.search(r"to read on, call read_result with (\{.*\})\]", result.content[0].text)
            assert hint is not None
            page = await client.call_tool("read_result", json.loads(hint[1]))
    offset = json.loads(hint[1])["offset"]
    assert isinstance(page.content[0], TextContent)
    assert page.content[0].text == words[offset : offset + 32 * 1024]


async def test_results_and_pages_fit_the_client() -> None:
    words = "".join(f"{number}\n" for number in range(100_000))
    with executor({"echo": echo}, ECHO, keep_results=True, max_result_chars=2000) as each:
        async with Client(make_server(each, version="1")) as client:
            result = await client.call_tool("echo", {"words": words})
            assert isinstance(result.content[0], TextContent)
            first = result.content[0].text.partition("\n")[0]
            assert len(result.content[0].text) <= 2000
            page = await client.call_tool("read_result", json.loads(first[first.index("{") : first.index("}") + 1]))
    texts = [block.text for block in page.content if isinstance(block, TextContent)]
    assert texts[0].startswith(words[850:900])
    assert 1700 < sum(map(len, texts)) <= 2000


async def test_an_unknown_tool_is_a_protocol_error(client: Client) -> None:
    async with client:
        with pytest.raises(MCPError, match="Unknown tool: ecco") as error:
            await client.call_tool("ecco", {})
    assert error.value.code == -32602


async def test_a_sandbox_failure_is_an_internal_error_with_its_cause() -> None:
    def die(_: JsonObject) -> JsonObject:
        raise RuntimeError("the lights went out")

    with executor({"wait": die}, WAIT) as each:
        async with Client(make_server(each, version="1")) as client:
            with pytest.raises(MCPError, match="the lights went out") as error:
                await client.call_tool("wait", {})
    assert error.value.code == -32603


async def test_calls_run_concurrently() -> None:
    both = threading.Barrier(2, timeout=60)

    def meet(_: JsonObject) -> JsonObject:
        return text(str(both.wait() in {0, 1}))

    with executor({"wait": meet}, WAIT) as each:
        async with Client(make_server(each, version="1")) as client, anyio.create_task_group() as tasks:
            for _ in range(2):
                tasks.start_soon(client.call_tool, "wait", {})


@pytest.mark.slow
async def test_cancelling_a_call_ends_it_in_the_sandbox_and_the_next_call_runs() -> None:
    started, ended = threading.Event(), threading.Event()

    def wait(_: JsonObject) -> JsonObject:
        started.set()
        ended.wait(60)
        return text("late")

    with executor({"wait": wait, "echo": echo}, WAIT, ECHO) as each:
        run = each.run

        def watched(*args: object, **fields: object) -> ToolResult:
            result = run(*args, **fields)  # type: ignore[arg-type]  # forwarded unchanged
            results.append(result)
            return result

        results: list[ToolResult] = []
        each.run = watched  # type: ignore[method-assign]
        async with Client(make_server(each, version="1")) as client:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(client.call_tool, "wait", {})
                await anyio.to_thread.run_sync(started.wait)
                tasks.cancel_scope.cancel()
            after = await client.call_tool("echo", {"words": "next"})
            while not results[:-1]:
                await anyio.lowlevel.checkpoint()
        ended.set()
    kinds = {result.error.kind for result in results if result.error}
    assert kinds == {"cancelled"}
    assert after.content == [TextContent(type="text", text="next")]


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        (Resource(b"%PDF", "application/pdf", "a b.pdf"), {"blob": base64.b64encode(b"%PDF").decode()}),
        (Resource("größer".encode(), "text/csv", "a b.csv"), {"text": "größer"}),
        (Resource(b"\xff", "text/html", "a b.html"), {"blob": "/w=="}),
    ],
)
def test_files_are_embedded_resources_with_text_or_base64(file: Resource, expected: dict[str, str]) -> None:
    (block,) = to_call_result(ToolResult(content=(file,))).content
    assert isinstance(block, EmbeddedResource)
    uri = f"toolc:///{file.name.replace(' ', '%20')}"
    assert block.resource.model_dump(exclude_none=True) == {"uri": uri, "mime_type": file.mime_type} | expected


def test_images_recordings_and_texts_have_their_block_types() -> None:
    content = (Image(b"\x89PNG", "image/png"), Text("a dot"), Audio(b"ID3", "audio/mpeg"))
    assert to_call_result(ToolResult(content=content)).content == [
        ImageContent(type="image", data=base64.b64encode(b"\x89PNG").decode(), mime_type="image/png"),
        TextContent(type="text", text="a dot"),
        AudioContent(type="audio", data="SUQz", mime_type="audio/mpeg"),
    ]


@pytest.mark.parametrize(
    ("data", "structured", "text"),
    [({"count": 2}, {"count": 2}, '{"count":2}'), ([1, None], {"result": [1, None]}, "[1,null]")],
)
def test_data_is_structured_content_and_text(data: JsonValue, structured: JsonValue, text: str) -> None:
    result = to_call_result(ToolResult(content=(), structured=(data,)))
    assert (result.structured_content, result.content) == (structured, [TextContent(type="text", text=text)])


def test_an_error_result_has_no_details() -> None:
    result = to_call_result(failure("timeout", "too slow", {"engine": "x"}))
    assert result.model_dump(by_alias=True, exclude_unset=True, exclude_none=True) == {
        "content": [{"type": "text", "text": "too slow"}],
        "isError": True,
    }


def test_tools_that_need_a_workspace_are_left_out_without_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = registry(ECHO, tool("look", workspace="ro"), tool("alter", workspace="rw"))
    assert usable(found, None).names == ("echo",)
    assert capsys.readouterr().err == (
        "toolc: alter, look: left out, because there is no workspace; set one with: --workspace DIR\n"
    )
    assert usable(found, tmp_path) is found
    assert usable(registry(ECHO), None).names == ("echo",)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("folder", ["/", "/nowhere/at/all"])
def test_an_unusable_workspace_is_rejected_at_the_start(folder: str) -> None:
    with pytest.raises(UsageError):
        usable(registry(ECHO), Path(folder))


def test_tools_that_cannot_run_are_rejected_at_the_start() -> None:
    http = HttpBackend(url=Template(("https://example.com/",)))
    later = replace(tool("later"), backend=http, sandbox=SandboxSpec(lifetime="session"))
    check_ready(registry(ECHO))
    with pytest.raises(UsageError, match=r"tool 'later': this version of toolc can compile 'sandbox\.lifetime"):
        check_ready(registry(ECHO, later))
