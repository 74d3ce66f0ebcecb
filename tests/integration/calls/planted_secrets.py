"""Planted secrets, and the search for them in bytes, processes, files and the data of a daemon."""

import base64
import json
import os
import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import quote

import docker

from toolc.config.secret_sources import LiteralSource, SecretStore
from toolc.model.json_schema import JsonObject
from toolc.model.plan import Profile
from toolc.sandbox.interface import Engine, EngineSandbox

VALUES = {"IN_ENV": "env-value/7f3a+zz", "IN_FILE": "file-value/9c1d+yy", "BY_BROKER": "broker-value/5b2e+xx"}
STORE = SecretStore({name: LiteralSource(value) for name, value in VALUES.items()}, {})


def forms(value: str) -> list[bytes]:
    """Return ``value`` in the encodings that programs write."""
    data = value.encode()
    return [
        data,
        quote(value, safe="").encode(),
        data.hex().encode(),
        base64.b64encode(data)[2:-4],
        base64.b64encode(b"x" + data)[4:-4],
        base64.b64encode(b"xy" + data)[4:-4],
        json.dumps(value)[1:-1].replace("/", "\\/").encode(),
    ]


def leaks(what: str, data: bytes, names: Sequence[str] = tuple(VALUES)) -> list[str]:
    """Return one sentence for each secret in ``data``."""
    return [f"{name} in {what}" for name in names if any(form in data for form in forms(VALUES[name]))]


def assert_clean(what: str, data: bytes) -> None:
    assert leaks(what, data) == []


def files(*roots: str | Path) -> Iterator[tuple[Path, bytes]]:
    """Yield every file in the folders, except large ones and those removed concurrently."""
    for root in roots:
        for folder, _, names in os.walk(root):
            for name in names:
                path = Path(folder, name)
                try:
                    if path.is_file() and not path.is_symlink() and path.stat().st_size < 8_000_000:
                        yield path, path.read_bytes()
                except OSError:
                    continue


def in_files(*roots: str | Path) -> list[str]:
    return [leak for path, data in files(*roots) for leak in leaks(str(path), data)]


def in_processes() -> tuple[list[str], bool]:
    """Return the secrets in processes of this machine, and whether the tool that receives them was found."""
    found: list[str] = []
    saw_tool = False
    for process in Path("/proc").glob("[0-9]*"):
        for name in ("environ", "cmdline", "comm", "maps", "mountinfo"):
            try:
                data = (process / name).read_bytes()
            except OSError:
                continue
            if name == "environ" and b"TOOLC_CALL_ID=" in data:
                saw_tool |= bool(leaks(name, data))  # other tools of other tests may run just now
            else:
                found += leaks(f"{name} of process {process.name}", data)
    return found, saw_tool


def in_daemon(socket_path: str) -> list[str]:
    """Return the secrets in a daemon's containers and images, from its API and its files."""
    found: list[str] = []
    with closing(docker.APIClient(base_url=f"unix://{socket_path}", version="auto")) as client:
        for each in client.containers(all=True):
            try:
                found += leaks("inspect", json.dumps(client.inspect_container(each["Id"])).encode())
            except docker.errors.NotFound:
                continue
        found += leaks("images", json.dumps(client.images()).encode())
        root = Path(client.info()["DockerRootDir"])
    return found + in_files(root / "containers", root / "image" / "overlay2" / "imagedb")


class SecretScanner:
    """Searches as the user of this process, also for a child process with another user."""

    def __init__(self, daemon: str | None) -> None:
        self._daemon = daemon
        self._here, self._there = socket.socketpair()
        self._thread = threading.Thread(target=self._serve)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._there.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._there.close()

    def scan(self, *folders: str | Path) -> JsonObject:
        """Return what is found now: ``leaks``, and whether the ``tool`` was found."""
        self._there.sendall(json.dumps([str(each) for each in folders]).encode() + b"\n")
        with self._there.makefile("rb") as answers:
            found: JsonObject = json.loads(answers.readline())
        return found

    def _serve(self) -> None:
        # After any failure the socket is closed, so that a request does not wait for a response.
        with self._here, self._here.makefile("rb") as asked:
            for line in asked:
                found, saw_tool = in_processes()
                found += in_files(*json.loads(line)) + (in_daemon(self._daemon) if self._daemon else [])
                self._here.sendall(json.dumps({"leaks": found, "tool": saw_tool}).encode() + b"\n")


class RecordedSandbox:
    """A sandbox that records all data to and from its guest."""

    def __init__(self, sandbox: EngineSandbox, received: bytearray) -> None:
        self._sandbox = sandbox
        self._received = received

    def __getattr__(self, name: str) -> object:
        return getattr(self._sandbox, name)

    def read(self) -> bytes | None:
        data = self._sandbox.read()
        self._received += data or b""
        return data

    def write(self, data: bytes | memoryview) -> int:
        sent = self._sandbox.write(data)
        self._received += data[:sent]
        return sent


class RecordingEngine:
    """An engine that records the data of its sandboxes: every byte of every frame is in ``received``."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.received = bytearray()

    def __getattr__(self, name: str) -> object:
        return getattr(self._engine, name)

    def start(self, profile: Profile, arguments: Sequence[str]) -> object:
        return RecordedSandbox(self._engine.start(profile, arguments), self.received)
