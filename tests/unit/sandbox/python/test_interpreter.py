"""Inspecting the Python of an image; invalid output is ignored."""

import os
import socket
from collections.abc import Sequence
from pathlib import Path
from typing import cast

import pytest

from toolc.model.errors import InfrastructureError, NoPythonError
from toolc.sandbox.host import store
from toolc.sandbox.interface import EngineSandbox, SocketStream
from toolc.sandbox.python import interpreter, portable
from toolc.sandbox.python.interpreter import PythonInfo, Start, python_info

GOOD = b'{"version": [3, 12], "libc": "glibc 2.36", "machine": "x86_64"}'


@pytest.fixture(autouse=True)
def _store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(store.VARIABLE, str(tmp_path / "store"))


class FakeSandbox(SocketStream):
    """A sandbox whose python3 prints ``output`` and exits."""

    def __init__(self, output: bytes, *, oom: bool) -> None:
        ours, theirs = socket.socketpair()
        super().__init__(ours)
        self._oom = oom
        with theirs:
            theirs.sendall(output)

    def out_of_memory(self) -> bool:
        return self._oom

    def memory_kills(self) -> int:
        return int(self.out_of_memory())


def starting(output: bytes, *, oom: bool = False) -> Start:
    return lambda _arguments: cast("EngineSandbox", FakeSandbox(output, oom=oom))


def inspected(output: bytes) -> PythonInfo | None:
    return python_info("sha256:1", starting(output))


def test_the_python_of_an_image_is_inspected_once() -> None:
    assert inspected(GOOD) == inspected(b"") == PythonInfo(version=(3, 12), libc="glibc 2.36", machine="x86_64")


@pytest.mark.parametrize(
    "output",
    [
        b"",
        b"hello",
        b"[" * 3000,
        b"[]",
        b'{"version": [3, 8], "libc": null, "machine": "x86_64"}',
        b'{"version": "3.12", "libc": null, "machine": "x86_64"}',
        b'{"version": [3, 12], "libc": 1, "machine": "x86_64"}',
        b'{"version": [3, 12], "libc": null}',
    ],
)
def test_unsuitable_pythons_are_rejected(output: bytes) -> None:
    assert inspected(output) is None
    assert inspected(GOOD) is None, "that is stored too"


def test_a_python_with_another_c_library() -> None:
    found = inspected(b'{"version": [3, 12], "libc": null, "machine": "x86_64"}')
    assert found == PythonInfo(version=(3, 12), libc="", machine="x86_64")


def test_an_image_without_python3_has_none() -> None:
    def start(_arguments: Sequence[str]) -> EngineSandbox:
        raise NoPythonError("there is none")

    assert python_info("sha256:1", start) is None


@pytest.mark.parametrize(("output", "oom"), [(b"x" * 5000, False), (GOOD, True)])
def test_failed_inspections_are_not_stored(output: bytes, oom: bool) -> None:
    with pytest.raises(InfrastructureError, match="the image's python3 "):
        python_info("sha256:1", starting(output, oom=oom))
    assert inspected(GOOD) is not None


def test_an_invalid_portable_python_is_not_stored() -> None:
    with pytest.raises(InfrastructureError):
        interpreter.portable_python("key", starting(b"no tar"))
    assert list((store.directory() / "scratch").iterdir()) == []


def test_the_interpreter_is_changed_in_place_or_unchanged() -> None:
    data = Path(os.path.realpath("/usr/bin/python3")).read_bytes()
    changed = portable.portable(data)
    assert len(changed) == len(data)
    assert changed != data
    assert portable.portable(b"#!/bin/sh\n") == b"#!/bin/sh\n"


def test_the_libraries_of_a_program() -> None:
    loader, libraries = portable.needed(os.path.realpath("/usr/bin/python3"))
    assert Path(loader).exists()
    assert "libc.so.6" in libraries
    assert portable.needed(__file__) == ("", [])
