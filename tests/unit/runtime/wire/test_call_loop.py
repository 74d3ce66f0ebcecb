import json
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from itertools import count

import pytest

from toolc.guest import frames, processes
from toolc.model.errors import InfrastructureError, SandboxDiedError
from toolc.model.plan import Exec, Mount, Plan, Profile, PythonCall
from toolc.model.result import Capture, Content, Outcome, Usage
from toolc.model.spec.code_backends import File
from toolc.model.spec.sandbox import EnvVar
from toolc.runtime.cancellation import Cancellation
from toolc.runtime.wire import call_loop
from toolc.runtime.wire.call_loop import converse
from toolc.testing.fake_engine import FakeEngine, FakeSandbox

PLAN = Plan(
    profile=Profile(),
    invocation=Exec(argv=("wc", "-w"), files=(File(path="a/b", base64="AA=="),)),
    call_id="c-1",
    env=(EnvVar(name="A", value="ü"),),
    stdin=b"two words" * 300_000,
)
DONE = Outcome(ending="exited", stdout=Capture(b"2\n", b"", 2))


@contextmanager
def sandbox(script: Callable[[Plan], Outcome]) -> Iterator[FakeSandbox]:
    made = FakeEngine(script).start(PLAN.profile, ())
    try:
        yield made
    finally:
        made.close()


def run(
    script: Callable[[Plan], Outcome],
    plan: Plan = PLAN,
    timeout_ms: int = 100_000,
    cancellation: Cancellation | None = None,
) -> Outcome:
    with sandbox(script) as made:
        return converse(made, plan, timeout_ms=timeout_ms, cancellation=cancellation, on_progress=lambda *_: None)


def test_plans_and_outcomes_are_transferred_completely() -> None:
    seen: list[Plan] = []

    def script(plan: Plan) -> Outcome:
        seen.append(plan)
        return Outcome(
            ending="exited",
            status=3,
            stdout=Capture(b"o" * 200_000, b"", 200_000),
            stderr=Capture(b"e", b"", 1),
            usage=Usage(cpu_ms=1.5, peak_memory_bytes=7),
        )

    outcome = run(script)
    assert seen == [PLAN]
    assert (outcome.ending, outcome.status, outcome.reply) == ("exited", 3, None)
    assert (outcome.stdout.total_bytes, outcome.stderr.data()) == (200_000, b"e")
    assert (outcome.usage.cpu_ms, outcome.usage.peak_memory_bytes) == (1.5, 7)
    assert 0 < outcome.usage.duration_ms < 100_000


def test_a_python_call_has_a_reply() -> None:
    call = PythonCall(entry="t.py", function="run", arguments={"n": [1]}, files=(File(path="t.py", text="x"),))
    plan = Plan(profile=Profile(), invocation=call, call_id="c")
    seen: list[Plan] = []

    def script(plan: Plan) -> Outcome:
        seen.append(plan)
        return Outcome(ending="exited", reply=Capture(b"{}", b"", 2))

    outcome = run(script, plan)
    assert seen == [plan]
    assert outcome.reply == Capture(b"{}", b"", 2)


def test_output_larger_than_every_window_is_received() -> None:
    size = 5 * frames.WINDOW_BYTES
    outcome = run(lambda _: Outcome(ending="exited", stdout=Capture(b"x" * size, b"", size)))
    assert outcome.stdout.total_bytes == size
    assert len(outcome.stdout.data()) == PLAN.profile.limits.output_bytes


@pytest.mark.parametrize("status", [0, 1])
def test_an_out_of_memory_kill_overrides_the_exit_status(status: int) -> None:
    assert run(lambda _: Outcome(ending="out_of_memory", status=status)).ending == "out_of_memory"


def test_not_started_has_a_reason() -> None:
    outcome = run(lambda _: Outcome(ending="not_started", status=127, reason="command not found: x"))
    assert (outcome.ending, outcome.reason) == ("not_started", "command not found: x")


def test_the_host_enforces_the_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(call_loop, "GRACE_SECONDS", 0.05)
    ended = threading.Event()

    def script(_: Plan) -> Outcome:
        ended.wait()
        return DONE

    try:
        outcome = run(script, timeout_ms=100)
        assert outcome.ending == "timed_out"
        assert outcome.usage.duration_ms >= 150
    finally:
        ended.set()


def test_a_cancellation_ends_the_call_immediately() -> None:
    ended = threading.Event()
    with Cancellation() as cancellation:

        def script(_: Plan) -> Outcome:
            cancellation.cancel()
            ended.wait()
            return DONE

        try:
            # The script is not done, nor is the time of the call up before that of this test.
            assert run(script, timeout_ms=10**9, cancellation=cancellation).ending == "cancelled"
        finally:
            ended.set()


def test_a_call_cancelled_before_its_start_never_runs() -> None:
    seen: list[Plan] = []

    def script(plan: Plan) -> Outcome:
        seen.append(plan)
        return DONE

    with Cancellation() as cancellation:
        cancellation.cancel()
        assert run(script, cancellation=cancellation).ending == "cancelled"
    assert seen == []


def test_a_call_cancelled_during_the_start_never_runs() -> None:
    sent_after = 0
    with Cancellation() as cancellation:

        class Waking(FakeSandbox):
            def read(self) -> bytes | None:
                if data := super().read():
                    cancellation.cancel()
                return data

            def write(self, data: bytes | memoryview) -> int:
                nonlocal sent_after
                sent_after += cancellation.is_cancelled
                return super().write(data)

        with closing(Waking(PLAN.profile, lambda _: DONE)) as made:
            outcome = converse(made, PLAN, timeout_ms=100_000, cancellation=cancellation, on_progress=lambda *_: None)
    assert (outcome.ending, sent_after) == ("cancelled", 0)


def stopped_by_the_host(*answers: bytes) -> tuple[Outcome, bytes]:
    """Return the outcome of a call that is cancelled during its output, and the last frame that the host sent.

    The guest sends ``answers`` once it was asked to stop the call.
    """
    sent, received = bytearray(), list[object]()
    with Cancellation() as cancellation:

        class Stopping(Rogue):
            def write(self, data: bytes | memoryview) -> int:
                sent.extend(data)
                if cancellation.is_cancelled:
                    self._reads += answers
                return len(data)

        def listen(*words: object) -> None:
            received.append(words)
            cancellation.cancel()

        output = frames.encode(frames.DATA, frames.STDOUT, b"begun\n")
        with closing(Stopping(READY, output)) as rogue:
            outcome = converse(
                rogue, PLAN, timeout_ms=100_000, cancellation=cancellation, on_progress=lambda *_: None,
                on_output=listen, stops=True,
            )  # fmt: skip
    # The listener receives nothing after the cancellation.
    assert len(received) == 1
    assert (outcome.ending, outcome.stdout.data()) == ("cancelled", b"begun\n")
    return outcome, bytes(sent[-frames.HEADER.size :])


def exit_frame(**changes: object) -> bytes:
    report = {"ending": "exited", "status": 0, "reason": "", "oom_kills": 0}
    return frames.encode(frames.EXIT, 0, json.dumps(report | changes).encode())


READY = frames.encode(frames.READY, 0, b"{}")
LATER = frames.encode(frames.DATA, frames.STDOUT, b"and ended\n")


@pytest.mark.parametrize("ended", [True, False])
def test_a_guest_ends_a_call_that_the_host_stops(ended: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(call_loop, "GRACE_SECONDS", 60.0)
    outcome, last = stopped_by_the_host(LATER, exit_frame(ending="timed_out", processes_ended=ended), LATER)
    assert last == frames.encode(frames.STOP)
    assert outcome.processes_ended is ended


@pytest.mark.parametrize("answers", [(), (LATER,), (b"",), (b"\xff" * 9,)], ids=["silent", "talks", "dead", "rogue"])
def test_a_guest_that_does_not_end_a_call_has_perhaps_not_ended_its_processes(
    answers: tuple[bytes, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(call_loop, "GRACE_SECONDS", 0.05)
    assert stopped_by_the_host(*answers)[0].processes_ended is None


def test_a_dead_sandbox_raises_with_its_error_output() -> None:
    def script(_: Plan) -> Outcome:
        raise RuntimeError("no \x1b[31mspace")

    with pytest.raises(SandboxDiedError) as caught:
        run(script)
    assert str(caught.value) == (
        "the sandbox ended before its call did; its error output:\nRuntimeError: no \N{REPLACEMENT CHARACTER}[31mspace"
    )


class Rogue(FakeSandbox):
    """A sandbox whose incoming bytes are set by the test."""

    def __init__(self, *reads: bytes | None, out_of_memory: bool = False) -> None:
        super().__init__(Profile(), lambda _: DONE)
        self._reads = list(reads)
        self._oom = out_of_memory

    def read(self) -> bytes | None:
        return self._reads.pop(0) if self._reads else None

    def out_of_memory(self) -> bool:
        return self._oom

    def memory_kills(self) -> int:
        return int(self.out_of_memory())


def outcome_of(rogue: Rogue, timeout_ms: int = 100_000) -> Outcome:
    try:
        return converse(rogue, PLAN, timeout_ms=timeout_ms, cancellation=None, on_progress=lambda *_: None)
    finally:
        rogue.close()


FAILED = exit_frame(ending="failed", status=127, reason="no \x1b room")


@pytest.mark.parametrize(
    ("reads", "out_of_memory", "ending"),
    [
        ((b"",), True, "out_of_memory"),
        ((READY, b""), True, "out_of_memory"),
        ((READY, exit_frame(oom_kills=None)), True, "out_of_memory"),
        ((READY, exit_frame(oom_kills=2)), False, "out_of_memory"),
        ((READY, FAILED), True, "out_of_memory"),
        ((READY, exit_frame(ending="timed_out", oom_kills=2)), False, "timed_out"),
        ((READY, exit_frame(ending="not_started", oom_kills=2)), False, "not_started"),
    ],
    ids=["before ready", "in the call", "engine's counter", "guest's counter", "failed start", "timeout", "no start"],
)
def test_running_out_of_memory_overrides_every_ending_but_a_timeout_and_a_missing_start(
    reads: tuple[bytes, ...], out_of_memory: bool, ending: str
) -> None:
    outcome = outcome_of(Rogue(*reads, out_of_memory=out_of_memory))
    assert outcome.ending == ending
    assert outcome.usage.duration_ms > 0


def test_a_call_that_failed_to_start_raises_with_the_reason() -> None:
    expected = "^the sandbox could not start the call: no \N{REPLACEMENT CHARACTER} room"
    with pytest.raises(SandboxDiedError, match=expected):
        outcome_of(Rogue(READY, FAILED))


def test_a_broken_protocol_is_explained() -> None:
    with pytest.raises(SandboxDiedError, match="violated the wire protocol: it sent data before READY"):
        outcome_of(Rogue(frames.encode(frames.DATA, frames.STDOUT, b"x")))


def test_a_guest_that_is_never_ready_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(call_loop, "START_SECONDS", 0.1)
    with pytest.raises(SandboxDiedError, match=r"not ready after 0\.1 seconds"):
        outcome_of(Rogue())


def test_endless_output_does_not_extend_the_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(call_loop, "GRACE_SECONDS", 0.05)
    endless = Rogue(READY)

    def read() -> bytes:
        return endless._reads.pop(0) or b"" if endless._reads else frames.encode(frames.DATA, frames.STDOUT, b"x")

    monkeypatch.setattr(endless, "read", read)
    clock = count()
    monkeypatch.setattr(call_loop, "monotonic", lambda: next(clock) / 100)
    outcome = outcome_of(endless, timeout_ms=100)
    assert (outcome.ending, 150 <= outcome.usage.duration_ms < 300) == ("timed_out", True)


def test_a_call_is_not_sent_to_a_sandbox_with_another_workspace() -> None:
    plan = replace(PLAN, profile=Profile(workspace=Mount(source="/srv", mode="rw", owner=0, group=0, inode=2)))
    with closing(Rogue(READY)) as rogue, pytest.raises(InfrastructureError, match="the sandbox has no workspace"):
        converse(rogue, plan, timeout_ms=1, cancellation=None, on_progress=lambda *_: None)


@pytest.mark.parametrize("held", ["progress", "output"])
def test_a_slow_listener_does_not_use_the_tools_time(held: str, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = 0.0
    monkeypatch.setattr(call_loop, "monotonic", lambda: clock)
    monkeypatch.setattr(call_loop, "GRACE_SECONDS", 0.0)
    plan = Plan(profile=Profile(), invocation=Exec(argv=("x",), progress=held == "progress"), call_id="c")
    reports: list[object] = []

    def listen(*words: object) -> None:
        nonlocal clock
        reports.append(words)
        clock += 0.3

    # The exit comes with the next read, when the deadline is long past.
    expected = frames.encode(frames.DATA, frames.STDERR, b"::progress 1 x\n")
    rogue = Rogue(READY, expected, exit_frame())
    outcome = converse(rogue, plan, timeout_ms=100, cancellation=None, on_progress=listen, on_output=listen)
    rogue.close()
    assert (len(reports), outcome.ending) == (1, "exited")


def test_an_exception_of_a_progress_sink_is_propagated() -> None:
    def sink(percent: float | None, message: str, content: tuple[Content, ...]) -> None:
        raise KeyboardInterrupt

    call = PythonCall(entry="t.py", function="run", arguments={}, files=(File(path="t.py", text=""),))
    plan = Plan(profile=Profile(), invocation=call, call_id="c")
    rogue = Rogue(READY, frames.encode(frames.PROGRESS, 0, b'{"percent": 1, "message": ""}'))
    with pytest.raises(KeyboardInterrupt):
        converse(rogue, plan, timeout_ms=100_000, cancellation=None, on_progress=sink)
    rogue.close()


def test_the_host_waits_longer_than_the_guest_for_a_process_that_hangs() -> None:
    """Otherwise the host gives up first, and the call waits for the removal of the sandbox."""
    assert call_loop.GRACE_SECONDS > processes.KILL_TIMEOUT
