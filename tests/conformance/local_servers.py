"""Local servers that tools connect to, with names that resolve to them and their own certificates."""

import http.server
import io
import socket
import ssl
import subprocess
import threading
import zipfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

from calls.tcp_server import tcp

NAMES: Final = ("api.toolc.test", "git.toolc.test", "index.toolc.test", "db.toolc.test", "ssh.toolc.test")
"""Names that resolve to this machine, like all names below ``wild.toolc.test``."""

WILD: Final = "*.wild.toolc.test"


@dataclass(frozen=True, slots=True, kw_only=True)
class Servers:
    """Ports of 127.0.0.1, and the self-signed certificate of those with TLS."""

    http: int
    https: int
    database: int
    banner: int
    authority: str


class _Files(http.server.SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  the name in the base class
        pass


class _Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 512
    context: ssl.SSLContext | None = None

    def finish_request(self, request: Any, client_address: Any) -> None:
        """Perform the TLS handshake on the thread of the connection, so that errors do not affect others."""
        if self.context is None:
            super().finish_request(request, client_address)
            return
        # Python leaks the socket of a client that disconnects before the handshake.
        if not request.recv(1, socket.MSG_PEEK):
            return
        with self.context.wrap_socket(request, server_side=True) as connection:
            super().finish_request(connection, client_address)

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignore clients that disconnect."""


@contextmanager
def servers(folder: Path) -> Iterator[Servers]:
    """Start all servers, with their files in ``folder``."""
    certificate, key = folder / "cert.pem", folder / "key.pem"
    alternatives = ",".join(f"DNS:{name}" for name in (*NAMES, WILD, "localhost")) + ",IP:127.0.0.1"
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"),
            *("-days", "2", "-subj", "/CN=toolc tests", "-addext", f"subjectAltName={alternatives}"),
            *("-keyout", str(key), "-out", str(certificate)),
        ],
        check=True,
        capture_output=True,
    )
    files = folder / "files"
    _fill(files)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with ExitStack() as stack:
        yield Servers(
            http=stack.enter_context(_http(files, None)),
            https=stack.enter_context(_http(files, context)),
            database=stack.enter_context(tcp(_postgres)),
            banner=stack.enter_context(tcp(_banner)),
            authority=certificate.read_text(encoding="ascii"),
        )


@contextmanager
def _http(files: Path, context: ssl.SSLContext | None) -> Iterator[int]:
    server = _Server(("127.0.0.1", 0), partial(_Files, directory=str(files)))
    server.context = context
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _fill(files: Path) -> None:
    """Write a greeting, a Git repository for dumb HTTP, and a package index with one package."""
    files.mkdir()
    (files / "hello").write_text("hello from the server\n", encoding="utf-8")
    work = files.parent / "work"
    git = ["git", "-c", "user.name=t", "-c", "user.email=t@toolc.test", "-c", "init.defaultBranch=main"]
    for command in (
        [*git, "init", "--quiet", str(work)],
        [*git, "-C", str(work), "commit", "--quiet", "--allow-empty", "--message", "first of all"],
        [*git, "clone", "--quiet", "--bare", str(work), str(files / "repo.git")],
        [*git, "-C", str(files / "repo.git"), "update-server-info"],
    ):
        subprocess.run(command, check=True, capture_output=True)
    index = files / "simple" / "toolc-greets"
    index.mkdir(parents=True)
    name = "toolc_greets-1.0-py3-none-any.whl"
    (index / "index.html").write_text(f'<a href="{name}">{name}</a>', encoding="utf-8")
    (index / name).write_bytes(_wheel())


def _wheel() -> bytes:
    about = "toolc_greets-1.0.dist-info"
    contents = {
        "toolc_greets.py": "GREETING = 'hello from the package'\n",
        f"{about}/METADATA": "Metadata-Version: 2.1\nName: toolc-greets\nVersion: 1.0\n",
        f"{about}/WHEEL": "Wheel-Version: 1.0\nGenerator: toolc\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{about}/RECORD": "".join(f"{each},,\n" for each in ("toolc_greets.py", f"{about}/METADATA")),
    }
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as wheel:
        for path, text in contents.items():
            wheel.writestr(path, text)
    return buffer.getvalue()


def _banner(connection: socket.socket) -> None:
    """Send the banner of an SSH server, which sends first (RFC 4253, 4.2)."""
    connection.sendall(b"SSH-2.0-toolc_test\r\n")
    connection.recv(1)


def _postgres(connection: socket.socket) -> None:
    """Speak enough of PostgreSQL's protocol (version 3) to refuse TLS, accept any user, and answer a query."""
    stream = connection.makefile("rwb")

    def send(kind: bytes, body: bytes) -> None:
        stream.write(kind + (len(body) + 4).to_bytes(4, "big") + body)

    while True:
        size = int.from_bytes(stream.read(4), "big")
        body = stream.read(size - 4)
        if body[:4] == (80877103).to_bytes(4, "big"):
            stream.write(b"N")
            stream.flush()
            continue
        break
    send(b"R", bytes(4))
    send(b"S", b"server_version\x0015.0\0")
    send(b"Z", b"I")
    stream.flush()
    while (kind := stream.read(1)) == b"Q":
        stream.read(int.from_bytes(stream.read(4), "big") - 4)
        send(b"T", b"\0\1greeting\0" + bytes(6) + (25).to_bytes(4, "big") + b"\xff\xff" + b"\xff" * 4 + b"\0\0")
        row = b"hello from the database"
        send(b"D", b"\0\1" + len(row).to_bytes(4, "big") + row)
        send(b"C", b"SELECT 1\0")
        send(b"Z", b"I")
        stream.flush()
    assert kind in {b"X", b""}
