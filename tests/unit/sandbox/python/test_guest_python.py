"""What is found out about an image's Python, and that it is believed only in the form of an answer."""

from __future__ import annotations

import os
import socket
from collections.abc import Sequence
from pathlib import Path

import pytest

from toolc.model.errors import InfrastructureError, NoPythonError
from toolc.sandbox.base import SocketStream
from toolc.sandbox.host import store
from toolc.sandbox.python import interpreter, portable
from toolc.sandbox.python.interpreter import PythonInfo, python_info

GOOD = b'{"version": [3, 12], "libc": "glibc 2.36", "machine": "x86_64"}'


@pytest.fixture(autouse=True)
def _store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(store.VARIABLE, str(tmp_path / "store"))


class Answering(SocketStream):
    """A sandbox whose python3 says this and ends."""

    def __init__(self, answer: bytes, *, starved: bool = False) -> None:
        ours, theirs = socket.socketpair()
        super().__init__(ours)
        self._starved = starved
        with theirs:
            theirs.sendall(answer)

    def out_of_memory(self) -> bool:
        return self._starved


def asked(answer: bytes) -> PythonInfo | None:
    return python_info("sha256:1", lambda _arguments: Answering(answer))


def test_an_image_is_asked_once() -> None:
    assert asked(GOOD) == PythonInfo(version=(3, 12), libc="glibc 2.36", machine="x86_64")
    assert asked(b"") == PythonInfo(version=(3, 12), libc="glibc 2.36", machine="x86_64")


@pytest.mark.parametrize(
    "answer",
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
def test_whatever_is_no_python_that_will_do_is_none(answer: bytes) -> None:
    assert asked(answer) is None
    assert asked(GOOD) is None, "that is remembered too"


def test_a_python_of_another_c_library() -> None:
    found = asked(b'{"version": [3, 12], "libc": null, "machine": "x86_64"}')
    assert found == PythonInfo(version=(3, 12), libc="", machine="x86_64")


def test_an_image_without_python3_has_none() -> None:
    def start(_arguments: Sequence[str]) -> Answering:
        raise NoPythonError("there is none")

    assert python_info("sha256:1", start) is None


@pytest.mark.parametrize(("answer", "starved"), [(b"x" * 5000, False), (GOOD, True)])
def test_what_could_not_be_asked_is_not_remembered(answer: bytes, starved: bool) -> None:
    with pytest.raises(InfrastructureError, match="the image's python3 "):
        python_info("sha256:1", lambda _arguments: Answering(answer, starved=starved))
    assert asked(GOOD) is not None


def test_a_runtime_that_is_none_is_not_kept() -> None:
    with pytest.raises(InfrastructureError):
        interpreter.portable_python("key", lambda _arguments: Answering(b"no tar"))
    assert list((store.directory() / "scratch").iterdir()) == []


def test_the_interpreter_is_changed_in_place_or_not_at_all() -> None:
    data = Path(os.path.realpath("/usr/bin/python3")).read_bytes()
    changed = portable.portable(data)
    assert len(changed) == len(data)
    assert changed != data
    assert portable.portable(b"#!/bin/sh\n") == b"#!/bin/sh\n"


def test_what_a_program_needs_is_read_from_it() -> None:
    loader, libraries = portable.needed(os.path.realpath("/usr/bin/python3"))
    assert Path(loader).exists()
    assert "libc.so.6" in libraries
    assert portable.needed(__file__) == ("", [])
