import json
import marshal
from contextlib import suppress
from dataclasses import replace
from enum import IntEnum, StrEnum

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolc.guest import frames
from toolc.guest.bundle import bundle
from toolc.guest.frames import (
    DATA,
    END,
    EXIT,
    PROGRESS,
    READY,
    REPLY,
    STDERR,
    STDIN,
    STDOUT,
    WINDOW,
    YIELDED,
    ProtocolError,
    encode,
)
from toolc.model.http_plan import HttpCall
from toolc.model.json_schema import JsonObject
from toolc.model.plan import Exec, Plan, Profile, PythonCall
from toolc.model.result import Image
from toolc.model.spec.code_backends import File
from toolc.model.spec.sandbox import EnvVar
from toolc.runtime.secrets.redaction import Redactor
from toolc.runtime.wire.call_loop import ignore_progress
from toolc.runtime.wire.protocol import Conversation, ExitReport, call_message

EXEC = Plan(
    profile=Profile(),
    invocation=Exec(argv=("wc", "-w"), files=(File(path="a", text="x"), File(path="b", base64="eA=="))),
    call_id="c-1",
    env=(EnvVar(name="A", value="b"),),
)
PYTHON = Plan(
    profile=Profile(),
    invocation=PythonCall(entry="t.py", function="run", arguments={"n": 1}, files=(File(path="t.py", text=""),)),
    call_id="c-2",
)
GOOD_EXIT = {"ending": "exited", "status": 0, "reason": "", "oom_kills": 0, "cpu_ms": 1.5, "peak_memory_bytes": 9}


def started(plan: Plan = EXEC, reports: list[object] | None = None) -> Conversation:
    """Return a conversation whose call has been sent; ``outgoing`` is empty."""
    events: list[object] = [] if reports is None else reports
    conversation = Conversation(
        plan,
        1000,
        on_progress=lambda percent, message, content: events.append((percent, message, *content)),
        on_output=lambda stream, text: events.append((stream, text)),
    )
    # What was sent before the guest could be ready: its bundle.
    conversation.outgoing.clear()
    conversation.receive(encode(READY, 0, b"{}"))
    conversation.call()
    conversation.outgoing.clear()
    return conversation


def captured(conversation: Conversation, stream: int) -> bytes:
    capture = conversation.capture(stream)
    assert capture is not None
    return capture.data()


def exit_frame(**changes: object) -> bytes:
    return encode(EXIT, 0, json.dumps(GOOD_EXIT | changes).encode())


def test_the_bundle_is_sent_first_and_the_call_after_ready() -> None:
    conversation = Conversation(EXEC, 1000, lambda *_: None)
    assert conversation.outgoing == bundle()
    conversation.receive(encode(READY, 0, b'{"python": "3.9.2"}'))
    assert conversation.is_ready
    conversation.outgoing.clear()
    conversation.call()
    sent = list(frames.FrameReader().feed(bytes(conversation.outgoing)))
    assert sent == [(frames.CALL, 0, call_message(EXEC, 1000)), (END, STDIN, b"")]


def test_arguments_of_other_types_reach_the_guest_as_json() -> None:
    class Color(StrEnum):
        RED = "red"

    class Size(IntEnum):
        LARGE = 3

    class Number(float):
        pass

    arguments: JsonObject = {"color": Color.RED, "size": Size.LARGE, "number": Number(1.5)}
    plan = replace(PYTHON, invocation=PythonCall(entry="t.py", function="run", arguments=arguments, files=()))
    call = marshal.loads(call_message(plan, 1000))
    assert call["python"]["arguments"] == {"color": "red", "size": 3, "number": 1.5}


def test_details_describe_the_call() -> None:
    assert marshal.loads(call_message(EXEC, 1000)) == {
        "call_id": "c-1",
        "timeout_ms": 1000,
        "directory": "/tmp",
        "environment": {"A": "b"},
        "files": [{"path": "a", "text": "x"}, {"path": "b", "base64": "eA=="}],
        "open_files": 1024,
        "file_size_bytes": 1024**3,
        "argv": ["wc", "-w"],
    }
    call = marshal.loads(call_message(PYTHON, 1000))
    assert call["python"] == {"entry": "t.py", "function": "run", "arguments": {"n": 1}}
    assert "argv" not in call


@pytest.mark.parametrize(
    ("call", "is_begun"),
    [
        (HttpCall(method="GET", url="http://127.0.0.1/"), True),
        # A token or file comes first and may fail, although a sent request means that the call has started.
        (HttpCall(method="GET", url="http://127.0.0.1/", needs_token=True), False),
        (HttpCall(method="GET", url="http://127.0.0.1/", files=(File(path="lib/a.py", text=""),)), False),
    ],
)
def test_a_guest_is_notified_if_its_request_was_sent(call: HttpCall, is_begun: bool) -> None:
    plan = Plan(profile=Profile(), invocation=call, call_id="c")
    assert marshal.loads(call_message(plan, 1000))["http"]["is_begun"] is is_begun
    assert Conversation(plan, 1000, lambda *_: None).sends_request_first is is_begun


def test_output_is_collected_by_stream() -> None:
    conversation = started(PYTHON)
    for stream, data in ((STDOUT, b"o"), (STDERR, b"e"), (REPLY, b"r"), (STDOUT, b"ut")):
        conversation.receive(encode(DATA, stream, data))
    conversation.receive(encode(END, STDOUT) + exit_frame())
    assert [captured(conversation, stream) for stream in (STDOUT, STDERR, REPLY)] == [b"out", b"e", b"r"]


def test_a_reply_has_its_own_limit() -> None:
    conversation = started(PYTHON)
    limit = 2 * PYTHON.profile.limits.output_bytes + 64 * 1024
    for _ in range(limit // 65_536 + 1):
        conversation.receive(encode(DATA, REPLY, b"x" * 65_536))
    capture = conversation.capture(REPLY)
    assert capture is not None
    assert (len(capture.data()), capture.cut_bytes) == (limit, 65_536)


def test_windows_are_granted_as_output_is_read() -> None:
    conversation = started()
    sent = 0
    for _ in range(100):
        conversation.receive(encode(DATA, STDOUT, b"x" * 65_536))
        sent += 65_536
    granted = sum(int(payload) for _, _, payload in frames.FrameReader().feed(bytes(conversation.outgoing)))
    assert 0 <= sent - granted <= frames.WINDOW_BYTES // 2


def test_stdin_is_sent_up_to_its_window() -> None:
    conversation = started(Plan(profile=Profile(), invocation=EXEC.invocation, call_id="c", stdin=b"x" * 3_000_000))
    received = 0

    def flush() -> list[frames.Frame]:
        sent = []
        conversation.refill()
        while conversation.outgoing:
            sent += list(frames.FrameReader().feed(bytes(conversation.outgoing)))
            conversation.outgoing.clear()
            conversation.refill()
        return sent

    # ``started`` threw away what was put out first: that much counts as under way.
    first = 4 * 65_536
    received += first + sum(len(payload) for _, _, payload in flush())
    assert received == frames.WINDOW_BYTES
    ended = False
    while not ended:
        conversation.receive(encode(WINDOW, STDIN, b"500000"))
        for kind, _, payload in flush():
            received += len(payload)
            ended = kind == END
    assert received == 3_000_000


REFUSED = {
    "output on a stream it has not": encode(DATA, REPLY, b"x"), "output on stdin": encode(DATA, STDIN, b"x"),
    "output on stream 0": encode(DATA, 0, b"x"),
    "output after its end": encode(END, STDOUT) + encode(DATA, STDOUT, b"x"), "two ends": encode(END, STDOUT) * 2,
    "a second READY": encode(READY, 0, b"{}"), "a call": encode(frames.CALL, 0, b"{}"),
    "a window of an output": encode(WINDOW, STDOUT, b"1"),
    "a window of stdin that was not used": encode(WINDOW, STDIN, b"1"),
    "a negative window": encode(WINDOW, STDIN, b"-1"),
    "a window that is no number": encode(WINDOW, STDIN, "٣".encode()),
    "progress, of a program": encode(PROGRESS, 0, b'{"percent": 1, "message": ""}'),
    "yielded text, of a program": encode(DATA, YIELDED, b"x"), "nothing, as output": encode(DATA, STDOUT),
    "an empty window": encode(WINDOW, STDIN, b"0"), "an end that is not JSON": encode(EXIT, 0, b"x"),
    "an ending it cannot know": exit_frame(ending="cancelled"),
    "a verdict of the host's": exit_frame(ending="out_of_memory"),
    "an ending that is no word": exit_frame(ending=["exited"]), "a status out of range": exit_frame(status=256),
    "a status that is none": exit_frame(status=True), "no reason": exit_frame(reason=None), "junk": b"\xff" * 100,
    "a control message without end": encode(frames.PART, 0, b"x" * 65_000) * 2,
}  # fmt: skip


@pytest.mark.parametrize("data", REFUSED.values(), ids=REFUSED.keys())
def test_invalid_frames_of_a_guest_are_refused(data: bytes) -> None:
    with pytest.raises(ProtocolError):
        started().receive(data)


REFUSED_PROGRESS = {
    "progress that is not JSON": encode(PROGRESS, 0, b"{"),
    "progress nested without end": encode(PROGRESS, 0, b"[" * 60_000),
    "progress that is a list": encode(PROGRESS, 0, b"[]"),
    "progress without words": encode(PROGRESS, 0, b'{"percent": 1}'),
    "progress with too many words": encode(PROGRESS, 0, json.dumps({"message": "x" * 1001}).encode()),
    "progress beyond 100": encode(PROGRESS, 0, b'{"percent": 101, "message": ""}'),
    "progress NaN": encode(PROGRESS, 0, b'{"percent": NaN, "message": ""}'),
    "progress true": encode(PROGRESS, 0, b'{"percent": true, "message": ""}'),
    "progress on a stream": encode(PROGRESS, STDOUT, b'{"percent": 1, "message": ""}'),
    "a flood of progress": encode(PROGRESS, 0, b'{"percent": 1, "message": ""}') * 1121,
}


@pytest.mark.parametrize("data", REFUSED_PROGRESS.values(), ids=REFUSED_PROGRESS.keys())
def test_invalid_progress_is_refused(data: bytes) -> None:
    with pytest.raises(ProtocolError, match=r"progress|type 7"):
        started(PYTHON).receive(data)


def test_more_than_the_window_is_refused() -> None:
    # Sixteen full frames are the window; nothing is acknowledged before the host has read them.
    conversation = started()
    conversation._outputs[STDOUT].window = 10
    with pytest.raises(ProtocolError, match="more on stream 2 than its window allows"):
        conversation.receive(encode(DATA, STDOUT, b"x" * 11))


@pytest.mark.parametrize("data", [encode(DATA, STDOUT, b"x"), exit_frame(), encode(READY, STDOUT)])
def test_data_before_ready_is_refused(data: bytes) -> None:
    with pytest.raises(ProtocolError, match="before READY"):
        Conversation(EXEC, 1000, lambda *_: None).receive(data)


def test_data_before_the_call_is_refused() -> None:
    with pytest.raises(ProtocolError, match="before the call"):
        Conversation(EXEC, 1000, lambda *_: None).receive(encode(READY, 0, b"{}") + exit_frame())


def test_progress_of_a_function_is_reported() -> None:
    reports: list[object] = []
    conversation = started(PYTHON, reports)
    conversation.receive(encode(PROGRESS, 0, b'{"percent": 40.5, "message": "m"}'))
    conversation.receive(encode(PROGRESS, 0, b'{"percent": null, "message": ""}'))
    assert reports == [(40.5, "m"), (None, "")]


@pytest.mark.parametrize("plan", [PYTHON, replace(EXEC, invocation=Exec(argv=("x",), progress=True))])
def test_unpaired_surrogates_in_progress_are_replaced(plan: Plan) -> None:
    reports: list[object] = []
    conversation = started(plan, reports)
    if plan is PYTHON:
        conversation.receive(encode(PROGRESS, 0, b'{"percent": 1, "message": "a\\ud800"}'))
    else:
        conversation.receive(encode(DATA, STDERR, b"::progress 1 a\xed\xa0\x80\n"))
    # A client's protocol must be able to encode the replacement.
    assert reports in ([(1, "a\ufffd")], [(1, "a" + "\N{REPLACEMENT CHARACTER}" * 3)])


def test_an_exit_report_contains_no_secret() -> None:
    conversation = Conversation(EXEC, 1000, ignore_progress, None, Redactor({"TOKEN": "s3cr3t-value"}), ready={})
    conversation.call()
    conversation.receive(exit_frame(ending="failed", reason="\ud800 s3cr3t-value"))
    assert conversation.exit_report
    assert conversation.exit_report.reason == "\ufffd [secret TOKEN]"


def test_output_and_progress_are_reported_in_order() -> None:
    reports: list[object] = []
    conversation = started(PYTHON, reports)
    conversation.receive(encode(DATA, STDOUT, b"a") + encode(DATA, STDOUT, b"b\n") + encode(DATA, STDERR, b"c\n"))
    yielded = '{"text": "ü"}\n'.encode()
    conversation.receive(encode(DATA, YIELDED, yielded[:11]) + encode(PROGRESS, 0, b'{"percent": 1, "message": ""}'))
    conversation.receive(encode(DATA, YIELDED, yielded[11:]) + encode(DATA, REPLY, b"r") + encode(END, YIELDED))
    assert reports == [("stdout", "ab\n"), ("stderr", "c\n"), (1, ""), ("content", "ü")]


def test_images_keep_their_order_among_texts() -> None:
    reports: list[object] = []
    conversation = started(PYTHON, reports)
    picture = '{"content": [{"type": "image", "mime_type": "image/gif", "data": "R0lGODlh"}]}'
    lines = f'{{"text": "a"}}\n{picture}\n{{"text": "b"}}\n'.encode()
    conversation.receive(encode(DATA, YIELDED, lines) + encode(END, YIELDED))
    assert reports == [("content", "a"), (None, "", Image(b"GIF89a", "image/gif")), ("content", "b")]


def test_live_output_is_limited_per_stream() -> None:
    reports: list[tuple[str, str]] = []
    conversation = started(EXEC, reports)  # type: ignore[arg-type]  # the only key of this plan
    for _ in range(10):
        conversation.receive(encode(DATA, STDOUT, b"x" * 65_536))
    assert sum(len(text) for _, text in reports) == EXEC.profile.limits.output_bytes
    assert all(text for _, text in reports)


def reporting(reports: list[object]) -> Conversation:
    """Return the plan of a program that may report progress on stderr."""
    return started(replace(EXEC, invocation=Exec(argv=("x",), progress=True)), reports)


def test_progress_lines_are_removed_from_stderr_if_enabled() -> None:
    reports: list[object] = []
    conversation = reporting(reports)
    conversation.receive(encode(DATA, STDOUT, b"out\n::progress 1 x\n") + encode(DATA, STDERR, b"a\n::progr"))
    conversation.receive(encode(DATA, STDERR, b"ess 40 text\nb\n"))
    assert captured(conversation, STDOUT) == b"out\n::progress 1 x\n"
    assert captured(conversation, STDERR) == b"a\nb\n"
    assert reports == [("stdout", "out\n::progress 1 x\n"), ("stderr", "a\n"), (40.0, "text"), ("stderr", "b\n")]


def test_a_buffered_line_is_not_lost() -> None:
    for end in (b"", encode(END, STDERR)):
        conversation = reporting([])
        conversation.receive(encode(DATA, STDERR, b"::progress soon") + end)
        assert captured(conversation, STDERR) == b"::progress soon"


def test_without_progress_in_the_plan_such_lines_are_stderr() -> None:
    conversation = started()
    conversation.receive(encode(DATA, STDERR, b"::progress 40 text\n"))
    assert captured(conversation, STDERR) == b"::progress 40 text\n"


def test_data_after_the_exit_report_is_ignored() -> None:
    conversation = started()
    conversation.receive(exit_frame(status=3) + b"\xff" * 100)
    assert conversation.exit_report == ExitReport(
        ending="exited", status=3, reason="", oom_kills=0, cpu_ms=1.5, peak_memory_bytes=9
    )


@pytest.mark.parametrize("junk", [None, "x", -1, True, 10**400, [1]])
def test_invalid_measurements_are_unknown(junk: object) -> None:
    conversation = started()
    conversation.receive(exit_frame(oom_kills=junk, cpu_ms=junk, peak_memory_bytes=junk))
    assert conversation.exit_report == ExitReport(
        ending="exited", status=0, reason="", oom_kills=None, cpu_ms=None, peak_memory_bytes=None
    )


@given(st.lists(st.tuples(st.integers(1, 8), st.integers(0, 5), st.binary(max_size=100))))
def test_no_frame_raises_anything_but_protocol_error(sent: list[frames.Frame]) -> None:
    conversation = started(PYTHON)
    with suppress(ProtocolError):
        conversation.receive(b"".join(encode(*frame) for frame in sent))


@pytest.mark.parametrize(
    ("reported", "ended"), [(True, True), (False, False), (1, False), ("true", False), (None, False)]
)
def test_only_a_clear_report_says_that_all_processes_have_ended(reported: object, ended: bool) -> None:
    conversation = started()
    assert not conversation.outcome("cancelled").processes_ended
    conversation.receive(exit_frame(processes_ended=reported))
    assert conversation.outcome("exited").processes_ended is (reported is True)
