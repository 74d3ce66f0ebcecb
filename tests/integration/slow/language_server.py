"""A minimal client of the Language Server Protocol (3.17)."""

import json
import os
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Any, Self


class LanguageServer:
    """A server in a separate process, which is stopped at the end of the block."""

    def __init__(self, command: list[str], folder: Path) -> None:
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=folder)
        self._count = 0
        self._notes: list[dict[str, Any]] = []
        capabilities = {
            "textDocument": {
                "publishDiagnostics": {},
                "completion": {"completionItem": {"documentationFormat": ["markdown"]}},
                "hover": {"contentFormat": ["markdown"]},
            }
        }
        about = {"processId": os.getpid(), "rootUri": folder.as_uri(), "capabilities": capabilities}
        self.ask("initialize", about)
        self._tell("initialized", {})
        # Else it would ask a site on the internet for schemas of its own.
        chosen = {"validate": True, "completion": True, "hover": True, "schemaStore": {"enable": False}}
        self._tell("workspace/didChangeConfiguration", {"settings": {"yaml": chosen}})

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.communicate()

    def open(self, path: Path) -> list[dict[str, Any]]:
        """Open a file as an editor does, and return its diagnostics."""
        text = path.read_text(encoding="utf-8")
        document = {"uri": path.as_uri(), "languageId": "yaml", "version": 1, "text": text}
        self._tell("textDocument/didOpen", {"textDocument": document})
        while True:
            for note in self._notes:
                if note["method"] == "textDocument/publishDiagnostics" and note["params"]["uri"] == path.as_uri():
                    found: list[dict[str, Any]] = note["params"]["diagnostics"]
                    return found
            self._notes.append(self._next())

    def at(self, method: str, path: Path, before: str) -> Any:
        """Return the server's response for the position after the text ``before``."""
        text = path.read_text(encoding="utf-8")
        lines = text[: text.index(before) + len(before)].split("\n")
        place = {"line": len(lines) - 1, "character": len(lines[-1])}
        return self.ask(method, {"textDocument": {"uri": path.as_uri()}, "position": place})

    def ask(self, method: str, params: dict[str, Any]) -> Any:
        """Return the result of a request; store notifications that arrive before it."""
        self._count += 1
        self._send({"id": self._count, "method": method, "params": params})
        while True:
            message = self._next()
            if "method" in message:
                self._notes.append(message)
            elif message["id"] == self._count:
                assert "error" not in message, message["error"]
                return message["result"]

    def _tell(self, method: str, params: dict[str, Any]) -> None:
        self._send({"method": method, "params": params})

    def _send(self, message: dict[str, Any]) -> None:
        data = json.dumps({"jsonrpc": "2.0"} | message).encode()
        assert self._process.stdin is not None
        self._process.stdin.write(b"Content-Length: %d\r\n\r\n%b" % (len(data), data))
        self._process.stdin.flush()

    def _next(self) -> dict[str, Any]:
        """Return the next message that is not a request; answer each request without content."""
        assert self._process.stdout is not None
        while True:
            size = 0
            while (header := self._process.stdout.readline().strip()) != b"":
                name, _, value = header.partition(b":")
                size = int(value) if name.lower() == b"content-length" else size
            assert size, "the server has ended"
            message: dict[str, Any] = json.loads(self._process.stdout.read(size))
            if "method" not in message or "id" not in message:
                return message
            self._send({"id": message["id"], "result": None})
