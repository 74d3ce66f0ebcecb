import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import pytest

from toolc.guest import frames
from toolc.guest.frames import FrameReader, encode
from toolc.model.errors import SandboxDiedError
from toolc.model.plan import Exec, Plan, Profile
from toolc.runtime.egress.broker import Egress
from toolc.runtime.sessions.server import run_program
from toolc.runtime.wire.session import EndedError, SessionCall, SessionWire

PLAN = Plan(profile=Profile(), invocation=Exec(argv=("true",)), call_id="c")
ENDED = json.dumps({"ending": "exited", "status": 0, "reason": "", "oom_kills": 0, "cpu_ms": 1.5})

Answer = Callable[[str], list[bytes]]
"""From a call's mark to the frames that the guest sends."""


class ScriptedSandbox:
    """Implements ``toolc.sandbox.base.EngineSandbox``; its guest answers each call with frames."""

    user = "scripted"
    image = None
    created = 0.0

    def __init__(self, answer: Answer) -> None:
        self._socket, self._theirs = socket.socketpair()
        self._socket.settimeout(0)
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

    def fileno(self) -> int:
        return self._socket.fileno()

    def read(self) -> bytes | None:
        try:
            return self._socket.recv(65536)
        except BlockingIOError:
            return None

    def write(self, data: bytes | memoryview) -> int:
        try:
            return self._socket.send(data)
        except BlockingIOError:
            return 0

    def out_of_memory(self) -> bool:
        return False

    def memory_kills(self) -> int:
        return int(self.out_of_memory())

    def error_output(self) -> str:
        return ""

    def close(self) -> None:
        self._socket.close()


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


def reply(mark: str, verdict: str = ENDED) -> bytes:
    return data(frames.REPLY, f"{mark} {verdict}\n")


def marks(mark: str) -> list[bytes]:
    return [data(stream, f"\0{mark}\0") for stream in (frames.STDOUT, frames.STDERR)]


def test_output_after_the_answer_belongs_to_the_same_call() -> None:
    def late(mark: str) -> list[bytes]:
        return [reply(mark), *marks(mark)[1:], data(frames.STDOUT, "late"), marks(mark)[0]]

    with session(late) as wire:
        outcome = run_program(wire, PLAN, Exec(argv=("true",)))
    assert (outcome.ending, outcome.status, outcome.stdout.text()) == ("exited", 0, "late")
    assert outcome.usage.cpu_ms == 1.5


@pytest.mark.parametrize(
    ("verdict", "reason"),
    [
        ("{", "its report about the program is not a JSON object"),
        ("[]", "its report about the program is not a JSON object"),
        ("{}", "its report about the program is invalid"),
        (ENDED.replace('"exited"', '"cancelled"'), "its report about the program is invalid"),
        (ENDED.replace('"exited"', "[]"), "its report about the program is invalid"),
        (ENDED.replace('"status": 0', '"status": "0"'), "its report about the program is invalid"),
        (ENDED.replace('"status": 0', '"status": 256'), "its report about the program is invalid"),
    ],
)
def test_an_invalid_answer_ends_the_session(verdict: str, reason: str) -> None:
    with session(lambda mark: [reply(mark, verdict), *marks(mark)]) as wire, pytest.raises(EndedError) as raised:
        run_program(wire, PLAN, Exec(argv=("true",)))
    assert (raised.value.outcome.ending, raised.value.outcome.reason) == ("broken", reason)


def test_a_long_reason_is_cut() -> None:
    verdict = json.dumps({"ending": "not_started", "status": 127, "reason": "x" * 5000})
    with session(lambda mark: [reply(mark, verdict), *marks(mark)]) as wire:
        assert run_program(wire, PLAN, Exec(argv=("true",))).reason == "x" * 1000


def test_a_missing_delimiter_is_a_timeout() -> None:
    with session(lambda mark: [reply(mark)], timeout_ms=200) as wire, pytest.raises(EndedError) as raised:
        run_program(wire, PLAN, Exec(argv=("true",)))
    assert raised.value.outcome.ending == "timed_out"


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (data(frames.YIELDED, "x"), "it sent output on stream 5, which is not open"),
        (encode(frames.DATA, frames.STDOUT), "it sent an empty frame on stream 2"),
        (encode(frames.PROGRESS, 0, b"{}"), "it sent a frame of type 7 on stream 0, which it must not send"),
        (encode(frames.WINDOW, frames.STDIN, b"9999999"), "it acknowledged stdin that was not sent"),
        (encode(frames.EXIT, 0, b"{}"), "its exit report is invalid"),
        (b"\xff" * 9, "it sent an invalid frame"),
    ],
)
def test_a_protocol_violation_of_the_guest_raises(frame: bytes, message: str) -> None:
    with session(lambda mark: [frame, reply(mark), *marks(mark)]) as wire, pytest.raises(SandboxDiedError) as raised:
        run_program(wire, PLAN, Exec(argv=("true",)))
    assert str(raised.value).startswith(f"the sandbox violated the wire protocol: {message}")
