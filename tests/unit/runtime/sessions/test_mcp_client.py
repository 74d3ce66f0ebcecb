"""The client of an MCP server, with a server whose messages are written in the test."""

import asyncio
from collections.abc import AsyncGenerator
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Any

from calls.hostile_mcp import FORM, TOOL
from mcp.shared.message import SessionMessage

from toolc.model.json_schema import JsonObject
from toolc.model.plan import McpCall
from toolc.runtime.sessions.mcp_client import LOOP, NOT_ASKED, McpClient
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
    """Answers each request of the client with its result, and keeps the answers of the client."""

    def __init__(self) -> None:
        self.answers: SimpleQueue[JsonObject] = SimpleQueue()
        self._messages: asyncio.Queue[JsonObject] = asyncio.Queue()

    async def messages(self) -> AsyncGenerator[SessionMessage, None]:
        while True:
            yield session_message(await self._messages.get())

    async def send(self, item: SessionMessage) -> None:
        message = item.message.model_dump(by_alias=True, exclude_unset=True)
        if "method" not in message:
            self.answers.put(message)
        elif "id" in message:
            answer: Any = {"jsonrpc": "2.0", "id": message["id"], "result": RESULTS[message["method"]]}
            self._messages.put_nowait(answer)

    def ask(self, number: int) -> None:
        params: Any = {"message": "Where to?", "requestedSchema": FORM}
        question: JsonObject = {"jsonrpc": "2.0", "id": number, "method": "elicitation/create", "params": params}
        LOOP.get().call_soon_threadsafe(self._messages.put_nowait, question)


def test_a_question_outside_of_a_call_is_refused_at_once() -> None:
    server = Server()
    client = McpClient(server.messages(), server.send)
    answer = client.call_tool(CALL, lambda *_: None, lambda *_: Future())
    assert answer.result(timeout=60) == RESULTS["tools/call"]
    server.ask(1)
    refused: Any = server.answers.get(timeout=60)
    assert refused["error"]["message"] == NOT_ASKED
    client.close()
