from __future__ import annotations

import json
import os
from collections.abc import Iterator

import pytest

from toolc.guest import flow_control, frames, streams
from toolc.guest.frames import FrameError, FrameReader
from toolc.guest.streams import ControlPipe, InputPipe, OutputPipe


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    """A pipe whose ends are non-blocking; what a test has not closed is closed after it."""
    ends = os.pipe()
    for fd in ends:
        os.set_blocking(fd, False)
    yield ends
    for fd in ends:
        try:
            os.close(fd)
        except OSError:
            continue


def sent(out: bytearray) -> list[frames.Frame]:
    found = list(FrameReader().feed(bytes(out)))
    out.clear()
    return found


def exhaust(outlet: OutputPipe, writer: int) -> int:
    """Write until the outlet may send no more; how many bytes it sent."""
    out, total = bytearray(), 0
    while outlet.may_send:
        os.write(writer, b"x" * 1000)
        outlet.pump(out)
        total += sum(len(payload) for _, _, payload in sent(out))
    return total


def test_an_outlet_sends_no_more_than_its_window(pipe: tuple[int, int]) -> None:
    outlet = OutputPipe(frames.STDOUT, pipe[0])
    assert exhaust(outlet, pipe[1]) == frames.WINDOW_BYTES
    outlet.grant(10)
    assert exhaust(outlet, pipe[1]) == 10


def test_an_outlet_says_end_once(pipe: tuple[int, int]) -> None:
    outlet, out = OutputPipe(frames.STDERR, pipe[0]), bytearray()
    assert not outlet.pump(out)
    os.close(pipe[1])
    assert outlet.pump(out)
    assert sent(out) == [(frames.END, frames.STDERR, b"")]
    assert not outlet.is_open


def test_an_inlet_acknowledges_what_went_into_the_pipe(pipe: tuple[int, int]) -> None:
    inlet, out = InputPipe(frames.STDIN, pipe[1]), bytearray()
    inlet.receive(b"x" * 100_000)
    inlet.pump(out)
    first = int(sent(out)[0][2])
    assert 0 < first < 100_000
    assert inlet.has_pending
    assert len(os.read(pipe[0], 200_000)) == first
    inlet.pump(out)
    assert sent(out) == [(frames.WINDOW, frames.STDIN, b"%d" % (100_000 - first))]


def test_an_inlet_closes_its_pipe_after_the_last_byte(pipe: tuple[int, int]) -> None:
    inlet, out = InputPipe(frames.STDIN, pipe[1]), bytearray()
    inlet.receive(b"last")
    inlet.finish()
    assert inlet.is_open
    inlet.pump(out)
    assert (os.read(pipe[0], 10), os.read(pipe[0], 10), inlet.is_open) == (b"last", b"", False)


def test_an_inlet_takes_everything_for_a_tool_that_has_closed_its_stdin(pipe: tuple[int, int]) -> None:
    inlet, out = InputPipe(frames.STDIN, pipe[1]), bytearray()
    os.close(pipe[0])
    for _ in range(5):
        inlet.receive(b"x" * 1000)
        inlet.pump(out)
    assert sent(out) == [(frames.WINDOW, frames.STDIN, b"1000")] * 5


def test_an_inlet_refuses_more_than_its_window(pipe: tuple[int, int]) -> None:
    inlet = InputPipe(frames.STDIN, pipe[1])
    inlet.receive(b"x" * frames.WINDOW_BYTES)
    with pytest.raises(FrameError):
        inlet.receive(b"x")


def test_an_inlet_refuses_data_after_its_end(pipe: tuple[int, int]) -> None:
    inlet = InputPipe(frames.STDIN, pipe[1])
    inlet.finish()
    with pytest.raises(FrameError):
        inlet.receive(b"x")


def test_notes_may_come_in_any_pieces(pipe: tuple[int, int]) -> None:
    notes, out = ControlPipe(pipe[0]), bytearray()
    line = json.dumps({"percent": 40, "message": "ü"}).encode() + b"\n" + b'{"not_started": "why"}\n'
    for byte in line:
        os.write(pipe[1], bytes([byte]))
        notes.pump(out)
    assert [json.loads(payload) for _, _, payload in sent(out)] == [{"percent": 40.0, "message": "ü"}]
    assert (notes.not_started, notes.failed) == ("why", None)


@pytest.mark.parametrize("word", ["not_started", "failed"])
def test_nothing_says_that_a_call_did_not_start_once_it_has(pipe: tuple[int, int], word: str) -> None:
    notes = ControlPipe(pipe[0])
    os.write(pipe[1], b'{"started": true}\n' + json.dumps({word: "forged"}).encode() + b"\n")
    notes.pump(bytearray())
    assert (notes.not_started, notes.failed) == (None, None)


def test_a_flood_of_progress_is_thinned_out_and_its_last_report_is_sent(
    pipe: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "monotonic", lambda: 5.0)
    monkeypatch.setattr(flow_control, "FREE_REPORTS", 50)
    notes, out = ControlPipe(pipe[0]), bytearray()
    for percent in range(100):
        os.write(pipe[1], b'{"percent": %d, "message": ""}\n' % percent)
    os.close(pipe[1])
    while notes.is_open:
        notes.pump(out)
    percentages = [json.loads(payload)["percent"] for _, _, payload in sent(out)]
    assert percentages == [*range(50), 99]


def test_of_what_a_call_says_of_itself_the_last_note_counts_unless_it_is_too_long(pipe: tuple[int, int]) -> None:
    notes = ControlPipe(pipe[0])
    os.write(pipe[1], b'{"about": {"pages": 1}}\n{"about": {"pages": 2}}\n{"about": 3}\n')
    os.write(pipe[1], json.dumps({"about": {"url": "x" * streams.MAX_STATE}}).encode() + b"\n")
    assert notes.pump(bytearray())
    assert notes.about == {"pages": 2}
