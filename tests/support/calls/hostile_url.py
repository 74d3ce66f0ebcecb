"""An MCP server over streamable HTTP whose behavior is chosen by its calls."""

from __future__ import annotations

import json
import socket
import time
from dataclasses import dataclass, field
from typing import Any

from calls.hostile_mcp import OTHER, TOOL, text
from calls.scripted_server import Request, ScriptedServer, json_reply, reply
from toolc.model.json_schema import JsonObject, JsonValue

PATH = "/mcp"
JUNK = "x" * 65536
STATUSES = {"unauthorized": 401, "forbidden": 403, "busy": 429, "broken": 500}


def event(message: JsonValue, *, number: str = "", retry: str = "") -> bytes:
    """Return one event of a stream."""
    lines = [f"id: {number}\n" if number else "", f"retry: {retry}\n" if retry else ""]
    return ("".join(lines) + f"data: {json.dumps(message) if message is not None else ''}\n\n").encode()


def stream(*events: bytes) -> bytes:
    """Return a response with events that ends after them."""
    head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
    return head.encode() + b"".join(events)


# What results of revision 2026-07-28 must have. Older clients ignore it.
MODERN = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}


def result(request_id: JsonValue, value: dict[str, Any]) -> JsonObject:
    """Return the answer to a request."""
    value = {**MODERN, **value}
    answer: JsonObject = json.loads(json.dumps({"jsonrpc": "2.0", "id": request_id, "result": value}))
    return answer


@dataclass
class HostileUrl:
    """The state of the server. ``server.received`` has its requests."""

    tools: list[JsonObject] = field(default_factory=lambda: [TOOL, OTHER])
    revision: str = "2025-11-25"
    session: str = "s-1"
    forgets: bool = False
    makes_strings: bool = False
    sessions: int = 0
    token: str = ""
    tokens: int = 0
    server: ScriptedServer = field(default_factory=ScriptedServer)

    def __post_init__(self) -> None:
        self.server.answers = {PATH: self.answer, "/token": self.grant}

    @property
    def methods(self) -> list[str]:
        """What the client has sent, in order: the methods of messages and of requests without a message."""
        return [
            json.loads(each.body).get("method", "answer") if each.body else each.method
            for each in self.server.received
            if each.path == PATH
        ]

    def grant(self, _: Request, connection: socket.socket) -> None:
        """Return an access token."""
        self.tokens += 1
        self.token = f"access-token-{self.tokens}"
        connection.sendall(json_reply({"access_token": self.token, "token_type": "bearer"}))

    def answer(self, request: Request, connection: socket.socket) -> None:
        """Answer one request to the path of the server."""
        if self.token and request.headers.get("authorization") != f"Bearer {self.token}":
            connection.sendall(reply(b"", status=401))
        elif request.method != "POST":
            self._answer_get(request, connection)
        else:
            self._answer_message(json.loads(request.body), request, connection)

    def _answer_get(self, request: Request, connection: socket.socket) -> None:
        number = request.headers.get("last-event-id", "")
        if not number:
            connection.sendall(reply(b"", status=200 if request.method == "DELETE" else 405))
        elif number.startswith("again"):
            connection.sendall(stream(event(None, number=f"{number}x", retry="1")))
        else:
            connection.sendall(stream(event(result(int(number), text("resumed")))))

    def _answer_message(self, message: JsonObject, request: Request, connection: socket.socket) -> None:
        number = message.get("id")
        if "method" not in message or number is None:
            connection.sendall(reply(b"", status=202))
            return
        number = str(number) if self.makes_strings else number
        if message["method"] == "initialize":
            self.sessions += 1
            if self.revision.startswith("2026"):
                error: JsonObject = {"code": -32601, "message": "Method not found"}
                connection.sendall(json_reply({"jsonrpc": "2.0", "id": number, "error": error}, status=404))
                return
            info: JsonObject = {"name": "hostile", "version": "1"}
            value = {"protocolVersion": self.revision, "capabilities": {"tools": {}}, "serverInfo": info}
            connection.sendall(json_reply(result(number, value), Mcp_Session_Id=f"{self.session}{self.sessions}"))
        elif self.forgets and request.headers.get("mcp-session-id") != f"{self.session}{self.sessions + 1}":
            self.forgets = False
            connection.sendall(reply(b"", status=404))
        elif message["method"] == "server/discover":
            about = {"supportedVersions": [self.revision], "capabilities": {"tools": {}}}
            about |= {"serverInfo": {"name": "hostile", "version": "1"}}
            connection.sendall(json_reply(result(number, about)))
        elif message["method"] == "tools/list":
            connection.sendall(stream(event(result(number, {"tools": self.tools}))))
        else:
            params = message["params"]
            assert isinstance(params, dict)
            arguments = params["arguments"]
            assert isinstance(arguments, dict)
            self._act(str(arguments["how"]), number, request, connection)

    def _act(self, how: str, number: JsonValue, request: Request, connection: socket.socket) -> None:  # noqa: PLR0912, PLR0915, C901  one branch per behavior
        answer = result(number, text(how))
        if how in STATUSES:
            connection.sendall(reply(b"go away", status=STATUSES[how]))
        elif how == "redirect":
            connection.sendall(reply(b"", status=307, Location="http://169.254.169.254/latest?key=1"))
        elif how == "accepted":
            connection.sendall(reply(b"", status=202))
        elif how == "html":
            connection.sendall(reply(b"<html>", kind="text/html"))
        elif how == "gzip":
            connection.sendall(json_reply(answer, Content_Encoding="gzip"))
        elif how == "error":
            error: JsonObject = {"code": -32602, "message": "not like this"}
            connection.sendall(json_reply({"jsonrpc": "2.0", "id": None, "error": error}, status=400))
        elif how == "wrong-id":
            connection.sendall(json_reply(result(999, text("wrong"))))
        elif how == "batch":
            connection.sendall(json_reply([answer]))
        elif how == "deep":
            connection.sendall(reply(b'{"id": 1, "x": ' + b"[" * 9000 + b"]" * 9000 + b"}", kind="application/json"))
        elif how == "huge":
            connection.sendall(json_reply(result(number, text("x" * (9 << 20)))))
        elif how == "huge-event":
            connection.sendall(stream(b"data: "))
            while True:
                connection.sendall(JUNK.encode())
        elif how == "flood":
            note: JsonObject = {
                "jsonrpc": "2.0",
                "method": "notifications/message",
                "params": {"level": "info", "data": 1},
            }
            connection.sendall(stream(*[event(note)] * 3000))
        elif how == "silence":
            connection.recv(1)
        elif how == "trickle":
            connection.sendall(stream(b": wait"))
            while not self.server.is_closing.wait(0.01):
                connection.sendall(b"\n\nevent: ping\ndata: x")
        elif how == "no-http":
            connection.sendall(b"SSH-2.0-OpenSSH_9\r\n")
        elif how == "cut":
            connection.sendall(json_reply(answer)[:-5])
        elif how == "ends":
            connection.sendall(
                stream(
                    event({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": 1}})
                )
            )
        elif how == "resume":
            connection.sendall(stream(event(None, number=str(number), retry="1")))
        elif how == "resume-forever":
            connection.sendall(stream(event(None, number="again", retry="0")))
        elif how == "ask":
            question: JsonObject = {"jsonrpc": "2.0", "id": "mine", "method": "roots/list"}
            connection.sendall(stream(event(question)))
            while "answer" not in self.methods:
                time.sleep(0.01)
            connection.sendall(event(result(number, text(self.server.received[-1].body.decode()))))
        elif how == "headers":
            connection.sendall(json_reply(result(number, text(json.dumps(dict(request.headers))))))
        else:
            connection.sendall(json_reply(answer))
