"""A scripted server that records its requests."""

import json
import socket
import ssl
import subprocess
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from toolc.model.json_schema import JsonValue

SECONDS: Final = 60.0
"""How long the server waits for a silent client."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One request."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes


Answer = Callable[[Request, socket.socket], None]
"""Responds to one request on its connection, which is closed afterwards."""


@dataclass
class ScriptedServer:
    """Listens on 127.0.0.1 and answers by path (without the query), otherwise with 404."""

    answers: dict[str, Answer | bytes] = field(default_factory=dict)
    tls: ssl.SSLContext | None = None
    received: list[Request] = field(default_factory=list)

    def __enter__(self) -> Self:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._threads: list[threading.Thread] = []
        self._connections: list[socket.socket] = []
        self.is_closing = threading.Event()
        self._main = threading.Thread(target=self._accept)
        self._main.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.is_closing.set()
        # Wakes the thread that accepts, which closing alone does not.
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._main.join(SECONDS)  # it adds no connection after that
        for connection in self._connections:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        for thread in (self._main, *self._threads):
            thread.join(SECONDS)
            assert not thread.is_alive()

    @property
    def url(self) -> str:
        """The address of the server, without a slash at the end."""
        return f"{'https' if self.tls else 'http'}://127.0.0.1:{self.port}"

    def _accept(self) -> None:
        while not self.is_closing.is_set():
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            connection.settimeout(SECONDS)
            self._connections.append(connection)
            thread = threading.Thread(target=self._serve, args=(connection,))
            self._threads.append(thread)
            thread.start()

    def _serve(self, connection: socket.socket) -> None:
        with suppress(OSError), connection:
            if self.tls:
                connection = self.tls.wrap_socket(connection, server_side=True)
            with connection:
                request = _read(connection)
                if request is None:
                    return
                self.received.append(request)
                answer = self.answers.get(request.path.partition("?")[0], reply(b"nothing here", status=404))
                if isinstance(answer, bytes):
                    connection.sendall(answer)
                else:
                    answer(request, connection)


def _read(connection: socket.socket) -> Request | None:
    data = b""
    while b"\r\n\r\n" not in data:
        piece = connection.recv(65536)
        if not piece:
            return None
        data += piece
    head, _, body = data.partition(b"\r\n\r\n")
    line, *fields = head.decode().split("\r\n")
    method, path, _ = line.split(" ")
    headers = {name.lower(): value for name, _, value in (each.partition(": ") for each in fields)}
    while len(body) < int(headers.get("content-length", "0")):
        body += connection.recv(65536)
    return Request(method=method, path=path, headers=headers, body=body)


def reply(body: bytes = b"", *, status: int = 200, kind: str = "text/plain", **headers: str) -> bytes:
    # Without this, a client may send its next request on a connection that the server is about to close.
    fields = {"Content-Type": kind, "Content-Length": str(len(body)), "Connection": "close"}
    fields |= {name.replace("_", "-"): value for name, value in headers.items()}
    head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    return f"HTTP/1.1 {status} Status\r\n{head}\r\n".encode() + body


def json_reply(value: JsonValue, *, status: int = 200, **headers: str) -> bytes:
    return reply(json.dumps(value).encode(), status=status, kind="application/json", **headers)


def certificate(folder: Path, name: str = "IP:127.0.0.1", *, days: int = 30) -> tuple[ssl.SSLContext, Path]:
    """Return the context of a server with a self-signed certificate, and the file of the certificate."""
    key, cert = folder / "key.pem", folder / "cert.pem"
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    command += ["-keyout", str(key), "-out", str(cert), "-days", str(days), "-subj", "/CN=test"]
    subprocess.run([*command, "-addext", f"subjectAltName={name}"], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    return context, cert
