"""Serve tools over the plugin protocol (``toolc.backends.plugin_protocol``) on stdin and stdout.

A single tool is described directly. Several tools are described as a list, and each call must name its tool. An invalid
line gets an error response, like a failed call.
"""

from __future__ import annotations

import base64
import os
import signal
from collections.abc import Sequence
from typing import BinaryIO, NoReturn

from toolc.backends.plugin_protocol import LineError, encode_line, read_request
from toolc.client.executor import Executor
from toolc.model.errors import ToolcError
from toolc.model.json_schema import JsonObject, JsonValue
from toolc.model.result import Content, Image, Text, ToolResult
from toolc.model.spec.tool import ToolSpec
from toolc.serve.input_lines import read_lines


class PluginServer:
    """Responds to request lines with an executor. ``tools`` are the served tools, at least one."""

    def __init__(self, executor: Executor, tools: Sequence[ToolSpec]) -> None:
        self._executor = executor
        self._tools = tools

    def respond(self, line: bytes) -> bytes:
        """Return the response to one line. Never raises an ``Exception``."""
        try:
            return encode_line(self._respond(read_request(line)))
        except LineError as error:
            return _failed(f"the request cannot be read: {error}")
        except ToolcError as error:
            return _failed(str(error))
        except Exception as error:  # noqa: BLE001  a bug in toolc: the host must get a response
            return _failed(f"this is a bug in toolc: {type(error).__name__}: {error}")

    def _respond(self, request: JsonObject) -> JsonObject:
        match request.get("type"):
            case "describe" if len(self._tools) == 1:
                return _description(self._tools[0])
            case "describe":
                return {"tools": [_description(tool) for tool in self._tools]}
            case "call":
                return self._call(request)
            case other:
                raise LineError(f"its type is {other!r:.40}; use 'describe' or 'call'")

    def _call(self, request: JsonObject) -> JsonObject:
        params, call_id = request.get("params", {}), request.get("call_id")
        if not isinstance(params, dict):
            raise LineError("its 'params' are not an object")
        if not isinstance(call_id, str | None):
            raise LineError("its 'call_id' is not a string")
        return _result(self._executor.run(self._tool_name(request.get("tool")), params, call_id=call_id))

    def _tool_name(self, name: JsonValue) -> str:
        names = [tool.name for tool in self._tools]
        if name is None and len(names) == 1:
            return names[0]
        if name not in names:
            raise LineError(f"its 'tool' is {name!r:.80}, but this plugin has: {', '.join(names)}")
        return str(name)


def serve_plugin(server: PluginServer) -> None:
    """Read requests from stdin and write responses to stdout, until stdin reaches its end or stdout is closed.

    File descriptor 1 is redirected to stderr, so that the host reads only responses. SIGTERM raises ``SystemExit``
    after the running call has ended.
    """
    signal.signal(signal.SIGTERM, _end)
    output = os.dup(1)
    os.dup2(2, 1)
    with os.fdopen(0, "rb", closefd=False) as lines, os.fdopen(output, "wb", buffering=0) as responses:
        for line in read_lines(lines):
            try:
                _write(responses, server.respond(line.data))
            except BrokenPipeError:
                return


def _write(stream: BinaryIO, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[stream.write(view) :]


def _end(number: int, _: object) -> NoReturn:
    raise SystemExit(128 + number)


def _description(tool: ToolSpec) -> JsonObject:
    return {"name": tool.name, "description": tool.description, "parameters": tool.parameters.value}


def _result(result: ToolResult) -> JsonObject:
    return {"content": [_block(block) for block in result.content], "error": result.is_error}


def _failed(message: str) -> bytes:
    return encode_line({"content": [{"type": "text", "text": f"Error: {message}"}], "error": True})


def _block(block: Content) -> JsonObject:
    match block:
        case Text(text=text):
            return {"type": "text", "text": text}
        case Image(data=data, mime_type=mime_type):
            encoded = base64.b64encode(data).decode("ascii")
            return {"type": "image", "mimeType": mime_type, "data": encoded}
        case _:
            # Not supported by the protocol, and an incomplete result must not look complete.
            text = f"[{block.mime_type}, {len(block.data)} bytes, which this protocol does not support]"
            return {"type": "text", "text": text}
