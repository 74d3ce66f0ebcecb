"""What the host accepts from the guest of an open sandbox, and what it refuses."""

import json
import math
from collections.abc import Callable

import pytest

from toolc.guest import frames
from toolc.guest.frames import FrameReader, ProtocolError, encode
from toolc.runtime.secrets.redaction import Redactor
from toolc.runtime.sessions.programs import ProgramRequest, ProgramState, ProgramTable, TerminalSize

FIRST = frames.FIRST_CONNECTION
END = {"ending": "exited", "status": 0, "reason": "", "timed_out": False, "oom_kills": 0, "cpu_ms": 1.5}


class Host:
    """A table of programs; ``sent`` are the frames for the guest."""

    def __init__(self, redactor: Redactor | None = None) -> None:
        self._reader = FrameReader()
        self.sent: list[tuple[int, int, bytes]] = []
        self.table = ProgramTable(lambda data: self.sent.extend(self._reader.feed(data)), redactor or Redactor())

    def start(
        self, *, buffers_output: bool = False, output_bytes: int = 1000, notify: Callable[[], None] = lambda: None
    ) -> ProgramState:
        request = ProgramRequest(argv=("true",), timeout_ms=1000, output_bytes=output_bytes)
        return self.table.start(request, notify, buffers_output=buffers_output)

    def receive(self, kind: int, stream: int, payload: bytes = b"") -> None:
        self.table.receive(encode(kind, stream, payload))

    def end(self, state: ProgramState, **changed: object) -> None:
        self.receive(frames.CLOSE, state.stream, json.dumps(END | changed).encode())


def test_a_program_is_started_with_what_was_requested() -> None:
    host = Host()
    request = ProgramRequest(
        argv=("ls", "\udcff"), directory="src", environment=(("A", "b"),), terminal=TerminalSize(2, 3), timeout_ms=5,
        output_bytes=10,
    )  # fmt: skip
    host.table.start(request, lambda: None, buffers_output=False)
    ((kind, stream, payload),) = host.sent
    assert (kind, stream) == (frames.CALL, 0)
    assert json.loads(payload) == {
        "stream": FIRST, "timeout_ms": 5, "directory": "src", "environment": {"A": "b"},
        "terminal": {"rows": 2, "columns": 3}, "argv": ["ls", "\udcff"],
    }  # fmt: skip


def test_stdin_is_sent_within_the_window() -> None:
    host = Host()
    state = host.start()
    data = bytes(3 * frames.WINDOW_BYTES)
    host.table.write(state, data, is_last=True)
    assert sum(len(payload) for kind, _, payload in host.sent if kind == frames.DATA) == frames.WINDOW_BYTES
    for _ in range(2):
        host.receive(frames.WINDOW, state.stream, b"%d" % frames.WINDOW_BYTES)
    assert sum(len(payload) for kind, _, payload in host.sent if kind == frames.DATA) == len(data)
    assert host.sent[-1] == (frames.END, state.stream, b"")


def test_output_is_acknowledged_at_once_or_when_it_was_taken() -> None:
    for buffers_output in (False, True):
        host = Host()
        state = host.start(buffers_output=buffers_output)
        for _ in range(frames.WINDOW_BYTES // frames.MAX_PAYLOAD):
            host.receive(frames.DATA, state.stream + 1, bytes(frames.MAX_PAYLOAD))
        granted = [int(payload) for kind, _, payload in host.sent if kind == frames.WINDOW]
        assert sum(granted) == (0 if buffers_output else frames.WINDOW_BYTES)
        assert sum(len(data) for _, data in host.table.read_output(state)) == (
            frames.WINDOW_BYTES if buffers_output else 0
        )
        assert sum(int(payload) for kind, _, payload in host.sent if kind == frames.WINDOW) == frames.WINDOW_BYTES


def test_the_end_has_the_redacted_output_of_both_streams() -> None:
    host = Host(Redactor({"TOKEN": "s3cr3t-value"}))
    state = host.start()
    host.receive(frames.DATA, state.stream + 1, b"a s3cr3t-")
    host.receive(frames.DATA, state.stream + 2, b"error")
    host.receive(frames.DATA, state.stream + 1, b"value")
    host.end(state, ending="not_started", reason="s3cr3t-value: no such file", errno=2, oom_kills=None)
    assert state.end is not None
    assert (state.end.stdout.data(), state.end.stderr.data()) == (b"a [secret TOKEN]", b"error")
    assert (state.end.reason, state.end.errno, state.end.out_of_memory) == ("[secret TOKEN]: no such file", 2, None)


def test_programs_have_separate_streams() -> None:
    host = Host()
    one, two = host.start(), host.start()
    host.receive(frames.DATA, two.stream + 1, b"two")
    host.receive(frames.DATA, one.stream + 1, b"one")
    host.end(two)
    host.end(one, ending="signaled", status=9)
    assert one.end is not None
    assert two.end is not None
    assert (one.end.stdout.data(), one.end.exit_code) == (b"one", 137)
    assert (two.end.stdout.data(), two.end.exit_code) == (b"two", 0)


@pytest.mark.parametrize(
    ("send", "reason"),
    [
        (lambda host: host.receive(frames.DATA, FIRST + 5, b"x"), "the program 21, which does not exist"),
        (lambda host: host.receive(frames.DATA, FIRST, b"x"), "a frame of type 4 for the program 16"),
        (lambda host: host.receive(frames.DATA, FIRST + 3, b"x"), "a frame of type 4 for the program 19"),
        (lambda host: host.receive(frames.END, FIRST + 1), "a frame of type 5 for the program 17"),
        (lambda host: host.receive(frames.OPEN, FIRST, b"{}"), "a frame of type 10"),
        (lambda host: host.receive(frames.WINDOW, FIRST, b"1"), "acknowledged stdin that was not sent"),
        (lambda host: host.receive(frames.WINDOW, FIRST, b"-1"), "acknowledged stdin that was not sent"),
        (lambda host: host.receive(frames.WINDOW, FIRST, "٣".encode()), "acknowledged stdin that was not sent"),
        (lambda host: host.receive(frames.CLOSE, FIRST, b"[]"), "the report about a program is not a JSON object"),
        (lambda host: host.receive(frames.CLOSE, FIRST, json.dumps(END | {"status": 256}).encode()), "is invalid"),
        (lambda host: host.receive(frames.CLOSE, FIRST, json.dumps(END | {"ending": []}).encode()), "is invalid"),
        (lambda host: host.receive(frames.CLOSE, FIRST, json.dumps(END | {"errno": 4096}).encode()), "invalid errno"),
        (lambda host: host.receive(frames.CLOSE, FIRST, json.dumps(END | {"errno": 10**99}).encode()), "invalid errno"),
        (lambda host: host.receive(frames.CLOSE, FIRST, json.dumps(END | {"errno": True}).encode()), "invalid errno"),
        (lambda host: host.receive(frames.CLOSE, FIRST, json.dumps(END | {"cpu_ms": math.nan}).encode()), "not a JSON"),
        (lambda host: host.receive(frames.CLOSE, FIRST, b'{"cpu_ms": 1e999}'), "not a JSON object"),
        (lambda host: host.receive(frames.CLOSE, FIRST, b"[" * 30_000), "not a JSON object"),
        (lambda host: host.table.receive(b"\xff" * 9), "an invalid frame"),
    ],
)  # fmt: skip
def test_violations_of_the_protocol_end_the_wait_for_the_program(send: Callable[[Host], None], reason: str) -> None:
    host = Host()
    notified: list[bool] = []
    host.start(notify=lambda: notified.append(True))
    with pytest.raises(ProtocolError, match=reason):
        send(host)
    notified.clear()
    host.table.notify_all()
    assert notified == [True]


def test_a_reason_has_no_control_characters() -> None:
    host = Host()
    state = host.start()
    host.end(state, ending="not_started", reason="\x1b[2Jno\nfile", errno=2)
    assert state.end is not None
    assert (state.end.reason, state.end.errno) == ("\ufffd[2Jno\ufffdfile", 2)


def test_output_beyond_the_window_is_refused() -> None:
    host = Host()
    state = host.start(buffers_output=True)
    for _ in range(frames.WINDOW_BYTES // frames.MAX_PAYLOAD):
        host.receive(frames.DATA, state.stream + 1, bytes(frames.MAX_PAYLOAD))
    with pytest.raises(ProtocolError, match="more on stream 17 than its window allows"):
        host.receive(frames.DATA, state.stream + 1, b"x")


def test_nothing_is_sent_for_a_program_that_has_ended() -> None:
    host = Host()
    state = host.start()
    host.end(state)
    host.sent.clear()
    host.table.kill(state)
    host.table.resize(state, TerminalSize(1, 1))
    host.table.write(state, b"late", is_last=False)
    assert host.sent == []
