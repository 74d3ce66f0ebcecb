"""The supervisor's ends of the pipes."""

import json
import os
from collections.abc import Iterator
from contextlib import suppress

import pytest

from toolc.guest import flow_control, frames, streams
from toolc.guest.frames import FrameError, FrameReader
from toolc.guest.streams import ControlPipe, InputPipe, OutputPipe


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    """A pipe with non-blocking ends, which are closed after the test."""
    ends = os.pipe()
    for fd in ends:
        os.set_blocking(fd, False)
    yield ends
    for fd in ends:
        with suppress(OSError):
            os.close(fd)


def sent(out: bytearray) -> list[frames.Frame]:
    found = list(FrameReader().feed(bytes(out)))
    out.clear()
    return found


def exhaust(output: OutputPipe, writer: int) -> int:
    """Write until the window is exhausted, and return how many bytes were sent."""
    out, total = bytearray(), 0
    while output.may_send:
        os.write(writer, b"x" * 1000)
        output.pump(out)
        total += sum(len(payload) for _, _, payload in sent(out))
    return total


def test_an_output_pipe_sends_at_most_its_window(pipe: tuple[int, int]) -> None:
    output = OutputPipe(frames.STDOUT, pipe[0])
    assert exhaust(output, pipe[1]) == frames.WINDOW_BYTES
    output.grant(10)
    assert exhaust(output, pipe[1]) == 10


def test_an_output_pipe_sends_end_once(pipe: tuple[int, int]) -> None:
    output, out = OutputPipe(frames.STDERR, pipe[0]), bytearray()
    assert not output.pump(out)
    os.close(pipe[1])
    assert output.pump(out)
    assert sent(out) == [(frames.END, frames.STDERR, b"")]
    assert not output.is_open


def test_an_input_pipe_acknowledges_half_a_window_at_a_time(pipe: tuple[int, int]) -> None:
    stdin, out = InputPipe(frames.STDIN, pipe[1]), bytearray()
    stdin.receive(bytes(frames.WINDOW_BYTES))
    written = 0
    while stdin.has_pending:
        stdin.pump(out)
        written += len(os.read(pipe[0], 200_000))
        granted = sum(int(payload) for _, _, payload in FrameReader().feed(bytes(out)))
        assert 0 <= written - granted < frames.WINDOW_BYTES // 2
    assert written == frames.WINDOW_BYTES


def test_an_input_pipe_closes_after_the_last_byte(pipe: tuple[int, int]) -> None:
    stdin, out = InputPipe(frames.STDIN, pipe[1]), bytearray()
    stdin.receive(b"last")
    stdin.finish()
    assert stdin.is_open
    stdin.pump(out)
    assert (os.read(pipe[0], 10), os.read(pipe[0], 10), stdin.is_open) == (b"last", b"", False)


def test_an_input_pipe_discards_data_after_the_tool_closed_its_stdin(pipe: tuple[int, int]) -> None:
    stdin, out = InputPipe(frames.STDIN, pipe[1]), bytearray()
    os.close(pipe[0])
    for _ in range(3):
        stdin.receive(bytes(frames.WINDOW_BYTES))
        stdin.pump(out)
    assert sent(out) == [(frames.WINDOW, frames.STDIN, b"%d" % frames.WINDOW_BYTES)] * 3


@pytest.mark.parametrize("ended", [False, True])
def test_an_input_pipe_rejects_data_beyond_its_window_or_its_end(pipe: tuple[int, int], ended: bool) -> None:
    stdin = InputPipe(frames.STDIN, pipe[1])
    if ended:
        stdin.finish()
    else:
        stdin.receive(b"x" * frames.WINDOW_BYTES)
    with pytest.raises(FrameError):
        stdin.receive(b"x")


def test_control_lines_can_arrive_in_any_pieces(pipe: tuple[int, int]) -> None:
    control, out = ControlPipe(pipe[0]), bytearray()
    line = json.dumps({"percent": 40, "message": "ü"}).encode() + b"\n" + b'{"not_started": "why"}\n'
    for byte in line:
        os.write(pipe[1], bytes([byte]))
        control.pump(out)
    assert [json.loads(payload) for _, _, payload in sent(out)] == [{"percent": 40.0, "message": "ü"}]
    assert (control.not_started, control.failed) == ("why", None)


@pytest.mark.parametrize("key", ["not_started", "failed"])
def test_a_started_call_cannot_be_reported_as_not_started(pipe: tuple[int, int], key: str) -> None:
    control = ControlPipe(pipe[0])
    os.write(pipe[1], b'{"started": true}\n' + json.dumps({key: "forged"}).encode() + b"\n")
    control.pump(bytearray())
    assert (control.not_started, control.failed) == (None, None)


@pytest.mark.parametrize("key", ["not_started", "failed", "message"])
def test_a_module_that_is_imported_reports_nothing(pipe: tuple[int, int], key: str) -> None:
    control, out = ControlPipe(pipe[0], is_loaded=False), bytearray()
    os.write(pipe[1], b"loading mine\n" + json.dumps({key: "forged"}).encode() + b'\n{"loaded": true}\n')
    control.pump(out)
    assert (control.not_started, control.failed, bytes(out)) == (None, None, b"")


def test_progress_is_rate_limited_and_the_last_report_is_sent(
    pipe: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "monotonic", lambda: 5.0)
    monkeypatch.setattr(flow_control, "FREE_REPORTS", 50)
    control, out = ControlPipe(pipe[0]), bytearray()
    for percent in range(100):
        os.write(pipe[1], b'{"percent": %d, "message": ""}\n' % percent)
    os.close(pipe[1])
    while control.is_open:
        control.pump(out)
    percentages = [json.loads(payload)["percent"] for _, _, payload in sent(out)]
    assert percentages == [*range(50), 99]


def test_the_last_valid_state_of_a_call_is_kept(pipe: tuple[int, int]) -> None:
    control = ControlPipe(pipe[0])
    os.write(pipe[1], b'{"about": {"pages": 1}}\n{"about": {"pages": 2}}\n{"about": 3}\n')
    os.write(pipe[1], json.dumps({"about": {"url": "x" * streams.MAX_STATE}}).encode() + b"\n")
    assert control.pump(bytearray())
    assert control.about == {"pages": 2}
