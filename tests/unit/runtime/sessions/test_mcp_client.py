"""The client of an MCP server, with a server whose messages are written in the test."""

import asyncio
from collections.abc import AsyncGenerator, Iterator
from concurrent.futures import CancelledError, Future
from queue import SimpleQueue
from typing import Any

import pytest
from calls.hostile_mcp import FORM, TOOL
from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage

from toolc.model.json_schema import JsonObject
from toolc.model.plan import McpCall
from toolc.runtime.sessions.mcp_client import LOOP, NOT_ASKED, ChangedError, McpClient
from toolc.runtime.sessions.mcp_lines import session_message

CALL = McpCall(server="s", argv=(), tool="act", definition=TOOL, arguments={"how": "hello"}, files=())
RESULTS: dict[str, dict[str, Any]] = {
    "initialize": {
        "protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}
    },
    "tools/list": {"tools": [TOOL]},
    "tools/call": {"content": [{"type": "text", "text": "hello"}]},
}  # fmt: skip


class Server:
    """Answers each request of the client with its result, and keeps what the client sends.

    The next answer to ``tools/list`` has ``changes``. If it is None, the server ends instead.
    """

    def __init__(self) -> None:
        self.answers: SimpleQueue[JsonObject] = SimpleQueue()
        self.requests: list[JsonObject] = []
        self.changes: JsonObject | None = {}
        self._messages: asyncio.Queue[JsonObject | None] = asyncio.Queue()

    async def messages(self) -> AsyncGenerator[SessionMessage, None]:
        while (message := await self._messages.get()) is not None:
            yield session_message(message)

    async def send(self, item: SessionMessage) -> None:
        message = item.message.model_dump(by_alias=True, exclude_unset=True)
        if "method" not in message:
            self.answers.put(message)
        elif "id" in message:
            self.requests.append(message)
            answer: Any = {"jsonrpc": "2.0", "id": message["id"], "result": RESULTS[message["method"]]}
            if message["method"] == "tools/list" and self.changes != {}:
                answer = None if self.changes is None else {"jsonrpc": "2.0", "id": message["id"], **self.changes}
            self._messages.put_nowait(answer)

    def ask(self, number: int) -> None:
        params: Any = {"message": "Where to?", "requestedSchema": FORM}
        question: JsonObject = {"jsonrpc": "2.0", "id": number, "method": "elicitation/create", "params": params}
        LOOP.get().call_soon_threadsafe(self._messages.put_nowait, question)


@pytest.fixture
def server() -> Server:
    return Server()


@pytest.fixture
def client(server: Server) -> Iterator[McpClient]:
    client = McpClient(server.messages(), server.send)
    yield client
    client.close()


def call(client: McpClient) -> JsonObject:
    return client.call_tool(CALL, lambda *_: None, lambda *_: Future()).result(timeout=60)


def test_a_question_outside_of_a_call_is_refused_at_once(server: Server, client: McpClient) -> None:
    assert call(client) == RESULTS["tools/call"]
    server.ask(1)
    refused: Any = server.answers.get(timeout=60)
    assert refused["error"]["message"] == NOT_ASKED


def test_a_question_after_a_call_that_was_not_sent_is_refused_at_once(server: Server, client: McpClient) -> None:
    server.changes = {"result": {"tools": []}}
    with pytest.raises(ChangedError):
        call(client)
    server.ask(1)
    refused: Any = server.answers.get(timeout=60)
    assert refused["error"]["message"] == NOT_ASKED


def test_each_call_asks_for_the_tools_with_an_id_of_its_own(server: Server, client: McpClient) -> None:
    for _ in range(3):
        assert call(client) == RESULTS["tools/call"]
    assert [each["method"] for each in server.requests] == ["initialize", *3 * ["tools/list", "tools/call"]]
    assert len({str(each["id"]) for each in server.requests}) == 7
    listings = [each for each in server.requests if each["method"] == "tools/list"]
    assert [{**each, "id": 0} for each in listings] == 3 * [{"jsonrpc": "2.0", "id": 0, "method": "tools/list"}]


def test_an_id_that_the_server_makes_a_string_is_that_of_the_request(server: Server, client: McpClient) -> None:
    call(client)
    server.changes = {"id": "1000000000", "result": RESULTS["tools/list"]}
    assert call(client) == RESULTS["tools/call"]


@pytest.mark.parametrize("result", [{}, {"tools": []}, {"tools": {"act": TOOL}}, {"tools": [None]}])
def test_later_lists_without_the_tool_end_the_call(server: Server, client: McpClient, result: JsonObject) -> None:
    call(client)
    server.changes = {"result": result}
    with pytest.raises(ChangedError, match="no longer has the tool 'act'"):
        call(client)
    assert not client.has_sent_call


def test_an_error_instead_of_a_later_list_is_that_of_the_server(server: Server, client: McpClient) -> None:
    call(client)
    server.changes = {"error": {"code": -32000, "message": "busy"}}
    with pytest.raises(MCPError, match="busy"):
        call(client)
    server.changes = {}
    assert call(client) == RESULTS["tools/call"]


def test_a_server_that_ends_instead_of_a_later_list_ends_the_call(server: Server, client: McpClient) -> None:
    call(client)
    server.changes = None
    with pytest.raises(CancelledError):
        call(client)
    with pytest.raises(MCPError, match="Connection closed"):
        call(client)
