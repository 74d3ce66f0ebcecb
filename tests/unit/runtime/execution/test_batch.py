import contextvars
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence

import pytest

from toolc.model.call import ToolCall
from toolc.model.errors import InfrastructureError, SandboxDiedError, UsageError
from toolc.model.result import BatchError, ToolResult, failure
from toolc.runtime.cancellation import Cancellation
from toolc.runtime.execution.batch import Mode, Order, Steer, processors, run_batch, with_ids


def calls(count: int) -> list[ToolCall]:
    return [ToolCall(name="t", arguments={"n": n}, call_id=f"c{n}") for n in range(count)]


def succeed(call: ToolCall) -> ToolResult:
    return ToolResult.success(call.call_id)


def skipped(call: ToolCall, reason: str) -> ToolResult:
    return failure("cancelled", f"{call.call_id} skipped: {reason}")


def batch(make: Callable[[ToolCall], ToolResult], count: int, order: Order) -> list[ToolResult]:
    with Cancellation() as cancellation:
        return run_batch(calls(count), make, order, cancellation, skipped)


def texts(results: Sequence[ToolResult]) -> list[str]:
    return [each.text for each in results]


@pytest.mark.parametrize(
    "order",
    [Order(), Order(size=3), Order(mode="sequential"), Order(mode="batched", size=3), Order(mode="batched", size=99)],
    ids=str,
)
@pytest.mark.parametrize("count", [0, 1, 7])
def test_results_are_in_the_order_of_the_calls(order: Order, count: int) -> None:
    assert texts(batch(succeed, count, order)) == [f"c{n}" for n in range(count)]


def test_results_keep_the_order_of_the_calls() -> None:
    second_is_done = threading.Event()

    def make(call: ToolCall) -> ToolResult:
        if call.call_id == "c0":
            assert second_is_done.wait(60)
        else:
            second_is_done.set()
        return succeed(call)

    assert texts(batch(make, 2, Order(size=2))) == ["c0", "c1"]


@pytest.mark.parametrize(
    ("order", "at_once"),
    [(Order(size=3), 3), (Order(mode="sequential"), 1), (Order(mode="batched", size=2), 2), (Order(size=50), 12)],
    ids=str,
)
def test_the_number_of_parallel_calls_is_limited(order: Order, at_once: int) -> None:
    lock, running, most = threading.Lock(), 0, 0
    together = threading.Barrier(at_once)

    def make(call: ToolCall) -> ToolResult:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        together.wait(60)
        with lock:
            running -= 1
        return succeed(call)

    batch(make, 12, order)
    assert most == at_once


def test_the_default_limit_depends_on_the_processors() -> None:
    assert Order().max_parallel == min(32, processors() + 4)


def test_groups_run_one_after_the_other() -> None:
    log: list[str] = []

    def make(call: ToolCall) -> ToolResult:
        log.append(f"begin {call.call_id}")
        log.append(f"end {call.call_id}")
        return succeed(call)

    batch(make, 5, Order(mode="batched", size=2))
    assert [{each.split()[1] for each in log[i : i + 4]} for i in (0, 4, 8)] == [{"c0", "c1"}, {"c2", "c3"}, {"c4"}]


@pytest.mark.parametrize("order", [Order(size=2), Order(mode="sequential"), Order(mode="batched", size=2)], ids=str)
def test_a_batch_error_has_all_results(order: Order) -> None:
    died = SandboxDiedError("the sandbox ended")

    def make(call: ToolCall) -> ToolResult:
        if call.call_id == "c1":
            raise died
        if call.call_id == "c2":
            return failure("execution", "no")
        return succeed(call)

    with pytest.raises(BatchError) as caught:
        batch(make, 4, order)
    assert str(caught.value) == "1 of 4 calls could not be made:\n- c1 (t): the sandbox ended"
    first, second, third, fourth = caught.value.outcomes
    assert (first, second, fourth) == (succeed(calls(1)[0]), died, succeed(calls(4)[3]))
    assert isinstance(third, ToolResult)
    assert third.is_error
    assert caught.value.__cause__ is died
    assert caught.value.exit_code == InfrastructureError.exit_code


def test_an_error_names_at_most_ten_problems() -> None:
    def make(call: ToolCall) -> ToolResult:
        raise UsageError(call.call_id)

    with pytest.raises(BatchError) as caught:
        batch(make, 12, Order(mode="sequential"))
    assert str(caught.value).splitlines()[-2:] == ["- c9 (t): c9", "- and 2 more"]
    assert len(caught.value.outcomes) == 12


def steering(at: int, answer: str | Exception) -> Steer:
    def steer(results: Sequence[ToolResult]) -> str | None:
        if len(results) < at:
            return None
        if isinstance(answer, Exception):
            raise answer
        return answer

    return steer


@pytest.mark.parametrize(
    ("mode", "size", "made"), [("sequential", None, 3), ("batched", 2, 4)], ids=["sequential", "batched"]
)
def test_skipped_calls_have_the_reason_of_steer(mode: Mode, size: int | None, made: int) -> None:
    results = batch(succeed, 6, Order(mode=mode, size=size, steer=steering(3, "the user has something to say")))
    assert texts(results) == [f"c{n}" for n in range(made)] + [
        f"c{n} skipped: the user has something to say" for n in range(made, 6)
    ]
    assert [each.is_error for each in results] == [False] * made + [True] * (6 - made)


def test_steer_is_called_between_calls() -> None:
    counts: list[int] = []

    def steer(results: Sequence[ToolResult]) -> None:
        counts.append(len(results))

    batch(succeed, 3, Order(mode="sequential", steer=steer))
    assert counts == [1, 2]


@pytest.mark.parametrize("answer", [None, "", False])
def test_steer_without_a_reason_continues(answer: str | None) -> None:
    assert texts(batch(succeed, 3, Order(mode="sequential", steer=lambda _: answer))) == ["c0", "c1", "c2"]


def test_anything_but_a_call_is_refused() -> None:
    with pytest.raises(UsageError) as caught:
        with_ids([("echo", {})])  # type: ignore[list-item]
    assert str(caught.value) == "a batch must contain ToolCall(name=..., arguments=...), not tuple"


def test_an_error_in_steer_loses_no_result() -> None:
    with pytest.raises(BatchError, match="2 of 3 calls") as caught:
        batch(succeed, 3, Order(mode="sequential", steer=steering(1, ValueError("bad steering"))))
    assert [isinstance(each, ToolResult) for each in caught.value.outcomes] == [True, False, False]


@pytest.mark.parametrize("order", [Order(size=2), Order(mode="sequential")], ids=str)
def test_ctrl_c_is_raised_after_all_calls_ended(order: Order) -> None:
    running: set[str] = set()
    with Cancellation() as cancellation:

        def make(call: ToolCall) -> ToolResult:
            running.add(call.call_id)
            try:
                if order.mode == "sequential":
                    raise KeyboardInterrupt
                if call.call_id == "c1":
                    signal_main()
                assert cancellation.wait(60)
                time.sleep(0.05)  # long enough for somebody who does not wait to be seen
                return succeed(call)
            finally:
                running.discard(call.call_id)

        with pytest.raises(KeyboardInterrupt):
            run_batch(calls(8), make, order, cancellation, skipped)
    assert running == set()


def test_ctrl_c_while_a_thread_starts_waits_for_its_call(monkeypatch: pytest.MonkeyPatch) -> None:
    begun = threading.Event()
    ended: list[str] = []

    class Interrupted(threading.Thread):
        def start(self) -> None:
            super().start()
            assert begun.wait(60)
            raise KeyboardInterrupt

    monkeypatch.setattr(threading, "Thread", Interrupted)
    with Cancellation() as cancellation:

        def make(call: ToolCall) -> ToolResult:
            begun.set()
            assert cancellation.wait(60)
            time.sleep(0.05)  # long enough for a batch that does not wait to return
            ended.append(call.call_id)
            return succeed(call)

        with pytest.raises(KeyboardInterrupt):
            run_batch(calls(3), make, Order(size=2), cancellation, skipped)
    assert ended == ["c0"]


def test_ctrl_c_before_the_first_thread_starts_ends_the_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    def start(_: threading.Thread) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(threading.Thread, "start", start)
    with pytest.raises(KeyboardInterrupt):
        batch(succeed, 3, Order(size=2))


PROGRAM = """
import atexit, signal, threading, time
from toolc.model.call import ToolCall
from toolc.model.result import ToolResult
from toolc.runtime.cancellation import Cancellation
from toolc.runtime.execution.batch import Order, run_batch

ready = threading.Barrier(3)

def hang(call):
    ready.wait()
    threading.Event().wait()

def run(make):
    calls = [ToolCall(name="t", arguments={}, call_id=each) for each in "ab"]
    return run_batch(calls, make, Order(), Cancellation(), lambda call, reason: None)
"""
"""A program with a batch of calls that never end by themselves."""


ENDS_MEANWHILE = "threading.Thread(target=run, args=(hang,), daemon=True).start(); ready.wait()"
ENDS_BEFORE = "atexit.register(lambda: print(*(each.text for each in run(lambda c: ToolResult.success(c.call_id)))))"
INTERRUPTED = """
def interrupt():
    ready.wait()
    while True:  # a signal that arrives just before a wait does not end it
        time.sleep(0.5)
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

threading.Thread(target=interrupt, daemon=True).start()
run(hang)
"""
"""The second Ctrl-C does not wait for the calls."""


@pytest.mark.parametrize(
    ("end", "status", "printed"), [(ENDS_MEANWHILE, 0, ""), (ENDS_BEFORE, 0, "a b"), (INTERRUPTED, -signal.SIGINT, "")]
)
def test_calls_of_a_batch_do_not_keep_the_program_alive(end: str, status: int, printed: str) -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM + end], check=False, capture_output=True, text=True)
    assert (done.returncode, done.stdout.strip()) == (status, printed)


def signal_main() -> None:
    signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)


@pytest.mark.parametrize("order", [Order(size=2), Order(mode="sequential"), Order(mode="batched", size=2)], ids=str)
@pytest.mark.parametrize("ending", [SystemExit("c0"), KeyboardInterrupt("c0")], ids=repr)
def test_system_exit_is_raised_and_no_other_call_starts(order: Order, ending: BaseException) -> None:
    made: list[str] = []
    with Cancellation() as cancellation:

        def make(call: ToolCall) -> ToolResult:
            made.append(call.call_id)
            if call.call_id == "c0":
                raise ending
            assert cancellation.wait(60)
            return succeed(call)

        with pytest.raises(type(ending), match="c0"):
            run_batch(calls(8), make, order, cancellation, skipped)
    assert set(made) <= {"c0", "c1"}


def test_ids_are_made_unique_and_missing_ones_added() -> None:
    given = ["a", "", "a", "a~2", "a", ""]
    found = [call.call_id for call in with_ids([ToolCall(name="t", arguments={}, call_id=each) for each in given])]
    assert [found[0], *found[2:5]] == ["a", "a~3", "a~2", "a~4"]
    assert all(each.startswith("call_") for each in (found[1], found[5]))
    assert len(set(found)) == 6


@pytest.mark.parametrize(
    ("order", "message"),
    [
        (lambda: Order(mode="both"), "there is no mode 'both'; choose one of: parallel, sequential, batched"),  # type: ignore[arg-type]
        (
            lambda: Order(mode="batched"),
            "mode 'batched' needs a size; to run all calls in parallel, use mode='parallel'",
        ),
        (lambda: Order(mode="sequential", size=2), "mode 'sequential' takes no size, because one call runs at a time"),
        (lambda: Order(size=0), "the batch size must be at least 1, not 0"),
        (
            lambda: Order(steer=steering(0, "")),
            "calls that run in parallel cannot be steered; use mode 'sequential' or 'batched'",
        ),
    ],
)
def test_an_invalid_order_is_refused(order: Callable[[], Order], message: str) -> None:
    with pytest.raises(UsageError) as caught:
        order()
    assert str(caught.value) == message


@pytest.mark.parametrize("order", [Order(), Order(mode="sequential"), Order(mode="batched", size=2)], ids=str)
def test_each_call_sees_the_context_variables_of_the_batch(order: Order) -> None:
    variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable")
    variable.set("set")
    assert texts(batch(lambda _: ToolResult.success(variable.get()), 3, order)) == ["set"] * 3


def test_a_context_variable_that_a_call_sets_does_not_change_for_the_caller() -> None:
    variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable", default="unset")

    def make(call: ToolCall) -> ToolResult:
        variable.set(call.call_id)
        return succeed(call)

    batch(make, 2, Order(size=1))
    assert variable.get() == "unset"
