"""Connect the official SDK's client to an MCP server, over toolc's own transport.

All connections of a process share one event loop on a separate thread. Call their methods on other threads.
"""

from __future__ import annotations

import asyncio
import logging
import os
import threading
from collections.abc import AsyncGenerator, Callable, Coroutine
from concurrent.futures import Future
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from itertools import count
from typing import Any, Final, NamedTuple, Self, TypeAlias, TypeVar

import mcp_types as types
from mcp.client.session import ClientRequestContext, ClientSession
from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage
from pydantic import TypeAdapter

from toolc.backends.mcp import difference
from toolc.model.json_schema import JsonObject, JsonValue
from toolc.model.plan import McpCall
from toolc.runtime.output.progress import MAX_MESSAGE
from toolc.runtime.sessions.mcp_lines import MAX_LINE, ServerError
from toolc.version import __version__

T = TypeVar("T")

MAX_PAGES: Final = 100
MAX_TOOLS: Final = 10_000
"""The maximum number of pages in the list of tools, and of tools on them. In all, they have at most ``MAX_LINE``."""

_FIRST_ID: Final = 1_000_000_000
"""The id of the first request without the SDK, which counts its own from 1."""

OnProgress = Callable[[float | None, str], None]
"""Receives the percentage of a call's progress, or None if it is unknown, and a message."""

OnQuestion: TypeAlias = "Callable[[str, JsonObject], Future[JsonObject | None]]"
"""Asks a person a question with a form, and returns the answer, or None if it is declined."""

Messages: TypeAlias = AsyncGenerator[SessionMessage, None]
"""Yields each message of the server, and ends with the server."""

Send: TypeAlias = Callable[[SessionMessage], Coroutine[Any, Any, None]]
"""Sends a message to the server, and returns once the next one may follow."""

# The SDK would print a traceback for each invalid notification of a server, unless the program configures logging.
logging.getLogger("client").addHandler(logging.NullHandler())

# Any: the SDK calls a JSON object ``dict[str, Any]``.
_OBJECT: Final[TypeAdapter[Any]] = TypeAdapter(dict[str, Any])

NOT_ASKED: Final = "toolc asks a user only with a form, and only if there is a way to confirm calls, such as a terminal"
"""The error for a question that no person receives."""


class _Loop:
    """The event loop, which is started when it is first needed. A forked child starts its own."""

    def __init__(self) -> None:
        self.reset()
        os.register_at_fork(after_in_child=self.reset)

    def reset(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None

    def get(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                threading.Thread(target=self._loop.run_forever, name="toolc mcp", daemon=True).start()
            return self._loop

    def submit(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        return asyncio.run_coroutine_threadsafe(work, self.get())


LOOP: Final = _Loop()


class _Stream(AbstractAsyncContextManager["_Stream"]):
    """The SDK's streams in both directions. The owner of the server closes them.

    ``tools`` is the last list of tools. The SDK does not see it, because it refuses a whole list for one invalid tool.
    ``listing`` is the SDK's request for its first page, if the request can be repeated.
    """

    def __init__(self, messages: Messages, send: Send) -> None:
        self._messages = messages
        self._send = send
        self._items = self._receive()
        self.listing: SessionMessage | None = None
        self._ids = count(_FIRST_ID)
        self._waiting: dict[str, asyncio.Future[types.JSONRPCResponse | types.JSONRPCError]] = {}
        self.tools: JsonValue = None

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage:
        return await anext(self._items)

    receive = __anext__

    async def send(self, item: SessionMessage) -> None:
        """Send a message of the SDK."""
        message = item.message
        if isinstance(message, types.JSONRPCRequest) and message.method == "tools/list" and message.params is None:
            self.listing = item
        await self._send(item)

    async def list_again(self) -> JsonObject:
        """Repeat the request for the first page of tools, and return the result unchanged.

        It precedes each call, and the SDK would add an eighth to the time of a call.
        """
        assert self.listing is not None
        request_id = next(self._ids)
        answer = self._waiting[str(request_id)] = asyncio.get_running_loop().create_future()
        request = self.listing.message.model_copy(update={"id": request_id})
        await self._send(replace(self.listing, message=request))
        message = await answer
        if isinstance(message, types.JSONRPCError):
            raise MCPError.from_jsonrpc_error(message)
        result: JsonObject = message.result
        return result

    async def aclose(self) -> None:
        await self._items.aclose()
        await self._messages.aclose()

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def _receive(self) -> Messages:
        """Yield the messages for the SDK."""
        try:
            async for item in self._messages:
                message = item.message
                if isinstance(message, types.JSONRPCResponse | types.JSONRPCError):
                    # Some servers make a string of each id.
                    if answer := self._waiting.pop(str(message.id), None):
                        if not answer.cancelled():
                            answer.set_result(message)
                        continue
                    if isinstance(message, types.JSONRPCResponse) and "tools" in message.result:
                        self.tools, message.result["tools"] = message.result["tools"], []
                yield item
        finally:
            self.listing = None  # the SDK reports that the connection is closed
            for each in self._waiting.values():
                each.cancel()


class _Session(ClientSession):
    """The session of the SDK. It declares that it can show forms, but not that it can open URLs."""

    def _build_capabilities(self, version: str) -> types.ClientCapabilities:
        declared = types.ElicitationCapability(form=types.FormElicitationCapability())
        return super()._build_capabilities(version).model_copy(update={"elicitation": declared})


class Offer(NamedTuple):
    """The offer of an MCP server: the definitions of its tools, and the names of its other capabilities."""

    tools: tuple[JsonObject, ...]
    others: tuple[str, ...]


class ChangedError(Exception):
    """The server's definition of a tool differs from the reviewed one. ``str(error)`` is the difference."""


class McpClient:
    """A client of one server. ``messages`` yields the server's messages, and ``send`` sends a message to it.

    It declares only elicitation, so the SDK refuses requests for sampling and roots with an error. ``has_sent_call``
    says whether the last call was sent to the server.
    """

    def __init__(self, messages: Messages, send: Send) -> None:
        self._stream = _Stream(messages, send)
        self._is_closed = asyncio.Event()
        self._connected: Future[ClientSession] = Future()
        self._ask: OnQuestion | None = None
        self.has_sent_call = False
        self._task = LOOP.submit(self._run())

    def close(self) -> None:
        """End the connection."""
        LOOP.get().call_soon_threadsafe(self._is_closed.set)

    def offer(self) -> Future[Offer]:
        """Ask the server for its tools and capabilities."""
        return LOOP.submit(self._offer())

    def call_tool(self, call: McpCall, on_progress: OnProgress, ask: OnQuestion | None) -> Future[JsonObject]:
        """Call a tool and return the result unchanged. Without ``ask``, questions of the server are refused.

        If the server's definition of the tool differs from the reviewed one, the call is not sent, and ``ChangedError``
        is raised.
        """
        self._ask = ask
        self.has_sent_call = False
        return LOOP.submit(self._call_tool(call, on_progress))

    def read_resource(self, uri: str) -> Future[JsonObject]:
        """Return the contents of a resource unchanged."""
        return LOOP.submit(self._request(types.ReadResourceRequest(params=types.ReadResourceRequestParams(uri=uri))))

    async def _run(self) -> None:
        info = types.Implementation(name="toolc", version=__version__)
        session = _Session(self._stream, self._stream, client_info=info, elicitation_callback=self._answer)
        async with session:
            try:
                await _shake_hands(session)
            except Exception as error:  # noqa: BLE001  those who wait for the session raise it
                self._connected.set_exception(error)
            else:
                self._connected.set_result(session)
                await self._is_closed.wait()

    async def _answer(self, context: ClientRequestContext, params: types.ElicitRequestParams) -> types.ElicitResult:
        if self._ask is None or not isinstance(params, types.ElicitRequestFormParams):
            raise MCPError(types.INVALID_REQUEST, NOT_ASKED)
        given = await asyncio.wrap_future(self._ask(params.message, params.requested_schema))
        return types.ElicitResult.model_validate({"action": "decline" if given is None else "accept", "content": given})

    async def _session(self) -> ClientSession:
        if not self._connected.done():
            await asyncio.wrap_future(self._connected)
        return self._connected.result()

    async def _offer(self) -> Offer:
        capabilities = (await self._session()).server_capabilities or types.ServerCapabilities()
        tools = await self._list_tools() if capabilities.tools else []
        return Offer(tuple(tools), tuple(name for name in ("resources", "prompts") if getattr(capabilities, name)))

    async def _list_tools(self) -> list[JsonObject]:
        """Return the definitions of all tools, from all pages, unchanged."""
        tools: list[JsonObject] = []
        cursor: str | None = None
        size = 0
        for _ in range(MAX_PAGES):
            page = await self._page(cursor)
            listed, following = page.get("tools"), page.get("nextCursor")
            tools += [each for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []
            if not isinstance(following, str):
                return tools
            cursor, size = following, size + len(repr(listed)) + len(following)
            if size > MAX_LINE or len(tools) > MAX_TOOLS:
                break
        raise ServerError("its list of tools does not end")

    async def _page(self, cursor: str | None) -> JsonObject:
        if cursor is None and self._stream.listing:
            return await self._stream.list_again()
        page = await self._request(types.ListToolsRequest(params=types.PaginatedRequestParams(cursor=cursor)))
        return page | {"tools": self._stream.tools}

    async def _call_tool(self, call: McpCall, on_progress: OnProgress) -> JsonObject:
        async def report(progress: float, total: float | None, message: str | None) -> None:
            percent = 100 * progress / total if total and 0 <= progress <= total else None
            on_progress(percent, (message or "")[:MAX_MESSAGE])

        request = types.CallToolRequest(params=types.CallToolRequestParams(name=call.tool, arguments=call.arguments))
        try:
            changed = difference(call.server, call.tool, call.definition, await self._list_tools())
            if changed is not None:
                raise ChangedError(changed)
            self.has_sent_call = True
            result: JsonObject = await (await self._session()).send_request(request, _OBJECT, progress_callback=report)
        finally:
            self._ask = None  # a later question belongs to no call
        await asyncio.sleep(0)  # reports that arrived before the answer come first
        if result.get("resultType") not in {None, "complete"}:
            raise ServerError("it asked a question before it answered, which toolc does not pass on to a user")
        return result

    async def _request(self, request: types.ListToolsRequest | types.ReadResourceRequest) -> JsonObject:
        result: JsonObject = await (await self._session()).send_request(request, _OBJECT)
        return result


async def _shake_hands(session: ClientSession) -> None:
    """Negotiate a revision of the protocol: up to 2025-11-25, or 2026-07-28 if the server supports no other."""
    try:
        await session.initialize()
    except MCPError as error:
        if error.code not in {types.METHOD_NOT_FOUND, types.UNSUPPORTED_PROTOCOL_VERSION}:
            raise
        await session.discover()
