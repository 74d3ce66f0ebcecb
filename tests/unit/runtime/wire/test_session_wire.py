import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import pytest

from toolc.guest import frames
from toolc.guest.frames import FrameReader, encode
from toolc.model.errors import SandboxDiedError
from toolc.model.plan import Plan, Profile, PythonCall
from toolc.model.result import Capture
from toolc.runtime.egress.egress_options import Egress
from toolc.runtime.sessions.sandbox_server import call_function
from toolc.runtime.wire.session import EndedError, SessionCall, SessionWire
from toolc.sandbox.interface import SocketStream

CALL = PythonCall(entry="tool.py", function="run", arguments={}, files=())
PLAN = Plan(profile=Profile(), invocation=CALL, call_id="c")

Answer = Callable[[str], list[bytes]]
"""From a call's mark to the frames that the guest sends."""


class ScriptedSandbox(SocketStream):
    """A sandbox whose guest answers each call with frames."""

    user = "scripted"
    image = None
    created = 0.0

    def __init__(self, answer: Answer) -> None:
        ours, self._theirs = socket.socketpair()
        super().__init__(ours)
        self._answer = answer
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        # The host may close the stream before the guest has sent everything.
        with self._theirs as wire, suppress(ConnectionError):
            (size,) = frames.LENGTH.unpack(wire.recv(frames.LENGTH.size, socket.MSG_WAITALL))
            wire.recv(size, socket.MSG_WAITALL)
            wire.sendall(encode(frames.READY, 0, b"{}"))
            reader = FrameReader()
            while data := wire.recv(65536):
                for kind, stream, payload in reader.feed(data):
                    if (kind, stream) == (frames.DATA, frames.STDIN):
                        for each in self._answer(json.loads(payload)["mark"]):
                            wire.sendall(each)

    def out_of_memory(self) -> bool:
        return False

    def memory_kills(self) -> int:
        return int(self.out_of_memory())

    def error_output(self) -> str:
        return ""


@contextmanager
def session(answer: Answer, timeout_ms: int = 10_000) -> Iterator[SessionWire]:
    sandbox = ScriptedSandbox(answer)
    try:
        wire = SessionWire(sandbox, PLAN, Egress())
        wire.begin(SessionCall(timeout_ms=timeout_ms))
        yield wire
    finally:
        sandbox.close()


def data(stream: int, text: str) -> bytes:
    return encode(frames.DATA, stream, text.encode())


def reply(mark: str) -> bytes:
    return data(frames.REPLY, f"{mark} {{}}\n")


def marks(mark: str) -> list[bytes]:
    return [data(stream, f"\0{mark}\0") for stream in (frames.STDOUT, frames.STDERR, frames.YIELDED)]


def test_output_after_the_answer_belongs_to_the_same_call() -> None:
    def late(mark: str) -> list[bytes]:
        return [reply(mark), *marks(mark)[1:], data(frames.STDOUT, "late"), marks(mark)[0]]

    with session(late) as wire:
        outcome = call_function(wire, PLAN, CALL)
    assert (outcome.ending, outcome.reply, outcome.stdout.text()) == ("answered", Capture(b"{}\n", b"", 3), "late")


def test_the_answer_of_another_call_ends_the_session() -> None:
    with session(lambda mark: [reply("0" * 32), *marks(mark)]) as wire, pytest.raises(EndedError) as raised:
        call_function(wire, PLAN, CALL)
    assert (raised.value.outcome.ending, raised.value.outcome.reason) == (
        "broken",
        "it answered a call that was not made",
    )


def test_a_missing_delimiter_is_a_timeout() -> None:
    with session(lambda mark: [reply(mark)], timeout_ms=200) as wire, pytest.raises(EndedError) as raised:
        call_function(wire, PLAN, CALL)
    assert raised.value.outcome.ending == "timed_out"


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (data(frames.STDIN, "x"), "it sent output on stream 1, which is not open"),
        (encode(frames.DATA, frames.STDOUT), "it sent an empty frame on stream 2"),
        (encode(frames.READY, 0, b"{}"), "it sent a frame of type 1 on stream 0, which it must not send"),
        (encode(frames.WINDOW, frames.STDIN, b"9999999"), "it acknowledged stdin that was not sent"),
        (encode(frames.EXIT, 0, b"{}"), "its report about the end is invalid"),
        (b"\xff" * 9, "it sent an invalid frame"),
    ],
)
def test_a_protocol_violation_of_the_guest_raises(frame: bytes, message: str) -> None:
    with session(lambda mark: [frame, reply(mark), *marks(mark)]) as wire, pytest.raises(SandboxDiedError) as raised:
        call_function(wire, PLAN, CALL)
    assert str(raised.value).startswith(f"the sandbox violated the wire protocol: {message}")
