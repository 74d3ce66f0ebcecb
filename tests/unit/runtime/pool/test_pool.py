import errno
import gc
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any, TypeVar

import pytest
from calls.fake_tools import registry, tool
from engines.forked_child import in_child

from toolc.client.executor import Executor
from toolc.config.configuration import Configuration
from toolc.model.errors import InfrastructureError
from toolc.model.plan import Plan, Profile
from toolc.model.result import Capture, Outcome, ToolResult
from toolc.model.spec.sandbox import WorkspaceMode
from toolc.runtime.cancellation import Cancellation
from toolc.runtime.pool import entry, keeper
from toolc.runtime.pool.pool import Pool
from toolc.runtime.pool.pool_sandbox import ClockOffsets, PoolSandbox
from toolc.runtime.workspace import busy
from toolc.runtime.workspace.mount import mount
from toolc.sandbox.interface import EngineSandbox
from toolc.testing import fake_engine
from toolc.testing.fake_engine import FakeEngine, FakeSandbox

REPLY = b'{"content": [{"type": "text", "text": "hello"}]}'


class SlowSandbox(FakeSandbox):
    """A sandbox that is not closed before ``may_close`` is set. ``failure`` is then raised."""

    def __init__(self, profile: Profile, script: Callable[[Plan], Outcome], may_close: threading.Event) -> None:
        super().__init__(profile, script)
        self._may_close = may_close
        self.failure: InfrastructureError | None = None

    def close(self) -> None:
        self._may_close.wait()
        super().close()
        if self.failure:
            raise self.failure


class AheadEngine(FakeEngine):
    """A fake engine that starts sandboxes ahead. ``sandboxes`` has them in order; ``ids`` has the calls of each one."""

    def __init__(self) -> None:
        super().__init__(lambda _: Outcome(ending="exited"))
        self.closings = 0
        self.sandboxes: list[SlowSandbox] = []
        self.may_close = threading.Event()
        self.may_close.set()
        self.ids: dict[int, list[str]] = {}
        self.is_replaced = False
        self.failures = 0
        self.started = threading.Event()
        self.started.set()
        self._numbers = count()

    def start(self, profile: Profile, arguments: Sequence[str]) -> FakeSandbox:
        self.profiles.append(profile)
        if threading.current_thread().name == "toolc pool":
            self.started.wait()
            if self.failures:
                self.failures -= 1
                raise InfrastructureError("there is no more room")
        number = next(self._numbers)

        def script(plan: Plan) -> Outcome:
            self.ids.setdefault(number, []).append(plan.call_id)
            return Outcome(ending="exited", reply=Capture(REPLY, total_bytes=len(REPLY)))

        self.sandboxes.append(SlowSandbox(profile, script, self.may_close))
        return self.sandboxes[-1]

    def profile_ahead(self, profile: Profile) -> Profile:
        return profile

    def mount_workspace(self, profile: Profile, sandbox: EngineSandbox) -> None:
        raise AssertionError("the workspace is there from the start")

    def is_current(self, profile: Profile, sandbox: EngineSandbox) -> bool:
        return not self.is_replaced

    def close(self) -> None:
        self.closings += 1


Made = TypeVar("Made", bound=AheadEngine)


def ended(made: Made) -> Iterator[Made]:
    """Yield an engine, and then check that nothing of it is left."""
    yield made
    # A test that failed may not have set them, and the next line would wait for ever.
    made.may_close.set()
    made.started.set()
    keeper.KEEPER.close()
    assert [each.name for each in threading.enumerate() if each.name == "toolc pool"] == []
    assert all(each.fileno() == -1 for each in made.sandboxes), "a sandbox was not closed"


@pytest.fixture
def engine() -> Iterator[AheadEngine]:
    yield from ended(AheadEngine())


def opened(
    engine: AheadEngine, pool: Pool | None = None, warm: Mapping[str, int] | None = None, workspace: Path | None = None
) -> Executor:
    modes: dict[str, WorkspaceMode] = {"reader": "ro", "writer": "rw", "change": "transaction"}
    tools = tool("word"), tool("other"), *(tool(name, workspace=mode) for name, mode in modes.items())
    configuration = Configuration(warm=warm or {})
    return Executor(
        registry(*tools), engine=engine, pool=pool or Pool(), configuration=configuration, workspace=workspace
    )


@contextmanager
def held(engine: AheadEngine) -> Iterator[None]:
    """Hold all starts ahead until the end of the block."""
    engine.started.clear()
    try:
        yield
    finally:
        engine.started.set()


def until(condition: Callable[[], object]) -> None:
    """Wait until the condition holds."""
    while not condition():
        time.sleep(0.001)


def counts(executor: Executor) -> tuple[int, int]:
    assert executor._options.pool is not None
    return executor._options.pool.counts()


def until_waiting(executor: Executor, number: int = 1) -> None:
    until(lambda: counts(executor) == (number, 0))


@contextmanager
def warmed(engine: AheadEngine, name: str = "word", pool: Pool | None = None, **options: Any) -> Iterator[Executor]:
    """Open an executor that has made a call of the tool, and for which one sandbox waits."""
    with opened(engine, pool, **options) as executor:
        assert not was_leased(executor.run(name, {}))
        until_waiting(executor)
        yield executor


@contextmanager
def starting(engine: AheadEngine, executor: Executor) -> Iterator[None]:
    """Make a first call. The sandbox for the next one is being started until the end of the block."""
    with held(engine):
        executor.run("word", {})
        until(lambda: counts(executor) == (0, 1))
        yield


def close_before(executor: Executor, event: threading.Event) -> None:
    """Close the executor; the event is set a little later."""
    timer = threading.Timer(0.02, event.set)
    timer.start()
    executor.close()
    timer.join()


def interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def leave_process(executor: Executor, name: str = "reader") -> None:
    """Make a call that fails because one of its processes has not ended."""
    with pytest.raises(InfrastructureError, match="was killed but has not ended"):
        executor.run(name, {})


def was_leased(result: ToolResult) -> bool:
    measured = result.details["timing_ms"]
    assert isinstance(measured, dict)
    assert ("lease" in measured) != ("start" in measured)
    return "lease" in measured


def test_after_the_first_call_one_sandbox_waits_for_the_next(engine: AheadEngine) -> None:
    with opened(engine) as executor:
        assert engine.profiles == []
        assert not was_leased(executor.run("word", {}, call_id="a"))
        until_waiting(executor)
        assert len(engine.profiles) == 2
        assert was_leased(executor.run("word", {}, call_id="b"))
        until_waiting(executor)
    assert engine.ids == {0: ["a"], 1: ["b"]}
    assert len(engine.profiles) == 3


def test_without_a_pool_nothing_waits(engine: AheadEngine) -> None:
    with Executor(registry(tool("word")), engine=engine, pool=None) as executor:
        executor.run("word", {})
        assert not was_leased(executor.run("word", {}))
    assert len(engine.profiles) == 2


def test_no_sandbox_serves_two_calls(engine: AheadEngine) -> None:
    with opened(engine) as executor, ThreadPoolExecutor(8) as threads:
        results = [*threads.map(lambda number: executor.run("word", {}, call_id=str(number)), range(100))]
    assert not any(each.is_error for each in results)
    assert sorted(len(each) for each in engine.ids.values()) == [1] * 100


def test_tools_with_equal_sandboxes_share_them(engine: AheadEngine) -> None:
    with warmed(engine) as executor:
        assert was_leased(executor.run("other", {}))


def test_a_sandbox_of_another_profile_is_not_used(engine: AheadEngine, tmp_path: Path) -> None:
    folder = tmp_path / "a"
    folder.mkdir()
    with warmed(engine, workspace=folder) as executor, opened(engine, workspace=folder) as another:
        assert not was_leased(executor.run("reader", {}))
        until_waiting(executor, 2)
        assert not was_leased(another.run("reader", {}))
        other = tmp_path / "b"
        other.mkdir()
        assert not was_leased(executor.run("reader", {}, workspace=other))


class LateEngine(AheadEngine):
    """An engine that mounts the workspace of a waiting sandbox at the call. ``mounted`` has the workspaces."""

    def __init__(self) -> None:
        super().__init__()
        self.mounted: list[str] = []
        self.mount_failure = ""

    def profile_ahead(self, profile: Profile) -> Profile:
        return replace(profile, workspace=profile.workspace.without_source()) if profile.workspace else profile

    def mount_workspace(self, profile: Profile, sandbox: EngineSandbox) -> None:
        assert isinstance(sandbox, FakeSandbox)
        assert profile.workspace is not None
        if self.mount_failure:
            raise InfrastructureError(self.mount_failure)
        self.mounted.append(profile.workspace.source)
        sandbox._guest._profile = profile


@pytest.fixture
def late_engine() -> Iterator[LateEngine]:
    yield from ended(LateEngine())


def test_a_sandbox_without_a_workspace_gets_that_of_its_call(late_engine: LateEngine, tmp_path: Path) -> None:
    folder = tmp_path / "workspace"
    folder.mkdir()
    with warmed(late_engine, "reader", workspace=folder) as executor:
        sources = [each.workspace.source for each in late_engine.profiles if each.workspace]
        assert sources == [str(folder), ""]
        other = tmp_path / "other"
        other.mkdir()
        assert was_leased(executor.run("reader", {}, workspace=other))
        assert late_engine.mounted == [str(other)]
        until_waiting(executor)
        # Another user of the tool is another sandbox; so is another mode.
        os.chown(other, 1234, 1234)
        assert not was_leased(executor.run("reader", {}, workspace=other))
        assert not was_leased(executor.run("writer", {}, workspace=other))
        # A sandbox without a workspace is ready as it is.
        executor.run("word", {})
        assert late_engine.mounted == [str(other)]


def test_a_sandbox_whose_workspace_cannot_be_mounted_is_replaced(late_engine: LateEngine, tmp_path: Path) -> None:
    with warmed(late_engine, "reader", workspace=tmp_path) as executor:
        late_engine.mount_failure = "move_mount: Invalid argument"
        assert not was_leased(executor.run("reader", {}))
        until(lambda: late_engine.sandboxes[1].fileno() == -1)
    assert sorted(late_engine.ids) == [0, 2]


def test_a_sandbox_with_another_folder_than_the_call_is_replaced(
    late_engine: LateEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with warmed(late_engine, "reader", workspace=tmp_path) as executor:
        monkeypatch.setattr(LateEngine, "mount_workspace", lambda *_: None)
        assert not was_leased(executor.run("reader", {}))


def test_a_view_of_a_workspace_is_not_started_ahead(engine: AheadEngine, tmp_path: Path) -> None:
    with opened(engine, workspace=tmp_path) as executor:
        executor.run("change", {})
        executor.run("change", {})
        assert counts(executor) == (0, 0)


def test_nothing_is_started_ahead_in_an_engine_that_was_closed_first(engine: AheadEngine) -> None:
    with warmed(engine) as executor:
        engine.close()
        engine.sandboxes[-1]._guest._wire.shutdown(socket.SHUT_RDWR)
        until(lambda: counts(executor) == (0, 0))
        time.sleep(0.3)  # longer than the time until a replacement
        assert (counts(executor), len(engine.profiles)) == ((0, 0), 2)
        assert not was_leased(executor.run("word", {}))
        until_waiting(executor)


def test_a_sandbox_that_ended_while_it_waited_is_replaced_and_not_used(
    engine: AheadEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(entry, "RETRY_SECONDS", (0.02, 0.1))
    with warmed(engine) as executor:
        engine.sandboxes[1]._guest._wire.shutdown(socket.SHUT_RDWR)
        until(lambda: len(engine.sandboxes) == 3)
        until_waiting(executor)
        assert was_leased(executor.run("word", {}, call_id="c"))
    assert engine.ids[2] == ["c"]


@pytest.mark.parametrize("cause", ["dead", "replaced", "slept", "set back"])
def test_an_unusable_sandbox_is_never_leased(engine: AheadEngine, cause: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with warmed(engine) as executor:
        match cause:
            case "dead":
                # It still has an open stream, but does not answer.
                monkeypatch.setattr(PoolSandbox, "has_ended", lambda _: False)
                engine.sandboxes[1]._guest._wire.shutdown(socket.SHUT_RDWR)
            case "replaced":
                engine.is_replaced = True
            case _:
                offsets = ClockOffsets.now()
                moved = offsets._replace(boot=offsets.boot + 2) if cause == "slept" else offsets._replace(wall=0.0)
                monkeypatch.setattr(ClockOffsets, "now", lambda: moved)
        with held(engine):
            assert not was_leased(executor.run("word", {}, call_id="c"))
    assert engine.ids == {0: [engine.ids[0][0]], 2: ["c"]}


def test_unused_sandboxes_are_stopped(engine: AheadEngine) -> None:
    with opened(engine, Pool(idle=0.2)) as executor:
        executor.run("word", {})
        until(lambda: len(engine.sandboxes) == 2)
        until(lambda: counts(executor) == (0, 0))
        until(lambda: engine.sandboxes[1].fileno() == -1)
        assert not was_leased(executor.run("word", {}))


def test_configured_tools_have_waiting_sandboxes_before_their_first_call(engine: AheadEngine) -> None:
    with opened(engine, Pool(idle=0.001, sandboxes=9), {"word": 2, "unknown": 3}) as executor:
        until_waiting(executor, 2)
        time.sleep(0.01)
        assert counts(executor) == (2, 0)
        assert was_leased(executor.run("word", {}))
        until_waiting(executor, 2)


def test_a_configured_zero_turns_the_pool_off_for_a_tool(engine: AheadEngine) -> None:
    with opened(engine, warm={"word": 0}) as executor:
        executor.run("word", {})
        assert not was_leased(executor.run("word", {}))
    assert len(engine.profiles) == 2


def test_a_tool_that_cannot_be_called_is_not_started_ahead(
    engine: AheadEngine, caplog: pytest.LogCaptureFixture
) -> None:
    with opened(engine, warm={"reader": 1}) as executor:
        until(lambda: caplog.messages)
        assert counts(executor) == (0, 0)
    assert "no sandbox of the tool 'reader' was started ahead: tool 'reader' needs a workspace" in caplog.messages[0]


def test_ceilings_hold_for_the_whole_process(engine: AheadEngine) -> None:
    with (
        opened(engine, Pool(sandboxes=3), {"word": 2}) as first,
        opened(engine, Pool(sandboxes=3), {"word": 2}) as second,
    ):
        until(lambda: sum(counts(first) + counts(second)) == 3)
        time.sleep(0.02)
        assert sum(counts(first) + counts(second)) == 3


@pytest.mark.parametrize("failures", [0, 1])
def test_a_call_waits_for_a_sandbox_that_is_being_started_and_is_made_even_if_that_fails(
    engine: AheadEngine, failures: int
) -> None:
    engine.failures = failures
    with opened(engine) as executor, ThreadPoolExecutor(1) as threads:
        with starting(engine, executor):
            call = threads.submit(executor.run, "word", {}, call_id="b")
            time.sleep(0.02)
            assert not call.done()
        assert not call.result().is_error
        assert was_leased(call.result()) is (failures == 0)


def test_a_cancelled_call_does_not_wait_for_a_sandbox_that_is_being_started(engine: AheadEngine) -> None:
    with opened(engine) as executor, ThreadPoolExecutor(1) as threads, Cancellation() as cancellation:
        with starting(engine, executor):
            call = threads.submit(executor.run, "word", {}, call_id="b", cancellation=cancellation)
            time.sleep(0.02)
            cancellation.cancel()
            error = call.result().error
            assert error is not None
            assert error.kind == "cancelled"
        until_waiting(executor)


def test_failed_starts_are_repeated_ever_more_rarely(engine: AheadEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(entry, "RETRY_SECONDS", (0.02, 0.1))
    engine.failures = 3
    with opened(engine) as executor:
        executor.run("word", {})
        begun = time.monotonic()
        until_waiting(executor)
        assert time.monotonic() - begun >= 0.02 + 0.04 + 0.08
        assert was_leased(executor.run("word", {}))


def test_sandboxes_that_end_while_they_wait_are_replaced_ever_more_rarely(
    engine: AheadEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(entry, "RETRY_SECONDS", (0.02, 0.1))
    with warmed(engine) as executor:
        begun = time.monotonic()
        for number in (1, 2, 3):
            engine.sandboxes[number]._guest._wire.shutdown(socket.SHUT_RDWR)
            until(lambda number=number: len(engine.sandboxes) == number + 2)  # type: ignore[misc]
            until_waiting(executor)
        assert time.monotonic() - begun >= 0.02 + 0.04 + 0.08


def test_close_stops_what_is_being_started(engine: AheadEngine) -> None:
    engine.started.clear()
    executor = opened(engine)
    executor.run("word", {})
    until(lambda: counts(executor) == (0, 1))
    close_before(executor, engine.started)
    assert [each.fileno() for each in engine.sandboxes] == [-1, -1]


def test_a_dropped_executor_leaves_no_sandbox(engine: AheadEngine) -> None:
    executor = opened(engine)
    executor.run("word", {})
    until_waiting(executor)
    del executor
    gc.collect()
    until(lambda: engine.sandboxes[1].fileno() == -1)


def test_an_executor_can_be_used_again_after_close(engine: AheadEngine) -> None:
    executor = opened(engine)
    for _ in range(2):
        executor.run("word", {})
        until_waiting(executor)
        executor.close()


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_child_has_no_sandboxes_and_leaves_those_of_its_parent_alone(engine: AheadEngine) -> None:
    with warmed(engine) as executor:

        def has_none() -> bool:
            with executor:
                return counts(executor) == (0, 0)

        assert in_child(has_none)
        assert was_leased(executor.run("word", {}))


@pytest.mark.parametrize("pool", [Pool(), None], ids=["with a pool", "without a pool"])
def test_a_call_returns_while_its_empty_sandbox_is_closed(engine: AheadEngine, pool: Pool | None) -> None:
    with Executor(registry(tool("word")), engine=engine, pool=pool) as executor:
        engine.may_close.clear()
        executor.run("word", {})
        assert engine.sandboxes[0].fileno() >= 0
        engine.may_close.set()
    # Closing the executor waits for it.
    assert engine.sandboxes[0].fileno() == -1


@pytest.mark.parametrize("error", [OSError(errno.EMFILE, "too many"), RuntimeError("can't start new thread")])
def test_a_call_closes_its_sandbox_itself_if_no_thread_can(
    engine: AheadEngine, error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(keeper, "PoolLoop", fail)
    with Executor(registry(tool("word")), engine=engine, pool=None) as executor:
        assert executor.run("word", {}).text == "hello"
        assert [each.fileno() for each in engine.sandboxes] == [-1]


def test_closing_an_executor_waits_for_its_used_sandboxes(engine: AheadEngine) -> None:
    executor = opened(engine, warm={"word": 0, "other": 1})
    engine.may_close.clear()
    until_waiting(executor)
    executor.run("other", {})
    close_before(executor, engine.may_close)
    assert {each.fileno() for each in engine.sandboxes} == {-1}


def test_a_transaction_waits_until_its_sandbox_is_closed(engine: AheadEngine, tmp_path: Path) -> None:
    with opened(engine, workspace=tmp_path) as executor, ThreadPoolExecutor(1) as threads:
        engine.may_close.clear()
        call = threads.submit(executor.run, "change", {})
        time.sleep(0.05)
        assert not call.done()
        engine.may_close.set()
        assert not call.result().is_error


@pytest.fixture
def leaves_a_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Guests report that a process has not ended."""
    exit_report = fake_engine._exit
    monkeypatch.setattr(fake_engine, "_exit", lambda outcome: exit_report(outcome) | {"processes_ended": False})


@pytest.mark.usefixtures("leaves_a_process")
def test_a_workspace_is_busy_until_the_last_process_of_a_call_has_ended(engine: AheadEngine, tmp_path: Path) -> None:
    with opened(engine, workspace=tmp_path) as executor, opened(engine, workspace=tmp_path) as another:
        engine.may_close.clear()
        leave_process(executor)
        assert engine.sandboxes[0].fileno() >= 0
        for each in (executor, another):
            with pytest.raises(InfrastructureError, match=r"is busy.*still being removed"):
                each.run("reader", {})
        assert len(engine.profiles) == 1
        engine.may_close.set()
        until(lambda: engine.sandboxes[0].fileno() == -1)
        until(lambda: not busy._MARKS.removals)
        leave_process(another)
        # Only a workspace can be busy.
        leave_process(executor, "word")
    assert busy._MARKS.removals == []


@pytest.mark.usefixtures("leaves_a_process")
def test_folders_above_and_below_a_busy_workspace_are_busy_too(engine: AheadEngine, tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("a", "a/b", "a/b/c", "a/other", "a/bc")]
    for each in folders:
        each.mkdir()
    with opened(engine, workspace=folders[1]) as executor:
        engine.may_close.clear()
        leave_process(executor)
        for each in folders[:3]:
            with pytest.raises(InfrastructureError, match=f"the workspace {each} is busy"):
                busy.require_free(mount(each, "ro"))
        for each in folders[3:]:
            busy.require_free(mount(each, "ro"))
        engine.may_close.set()


@pytest.mark.usefixtures("leaves_a_process")
def test_no_workspace_is_busy_in_a_forked_child(engine: AheadEngine, tmp_path: Path) -> None:
    """The child has no thread that could end the removal."""
    with opened(engine, workspace=tmp_path) as executor:
        engine.may_close.clear()
        leave_process(executor)
        assert in_child(lambda: busy.require_free(mount(tmp_path, "ro")) is None)  # type: ignore[func-returns-value]
        engine.may_close.set()


@pytest.mark.usefixtures("leaves_a_process")
def test_a_removal_that_failed_is_tried_again_by_the_next_call(
    engine: AheadEngine, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with opened(engine, workspace=tmp_path) as executor:
        engine.may_close.clear()
        leave_process(executor)
        engine.sandboxes[0].failure = InfrastructureError("they hang in the kernel")
        engine.may_close.set()
        until(lambda: caplog.messages)
        with pytest.raises(InfrastructureError, match=r"is busy.*they hang in the kernel"):
            executor.run("reader", {})
        engine.sandboxes[0].failure = None
        leave_process(executor)
        assert len(engine.sandboxes) >= 2
    assert caplog.messages == ["they hang in the kernel"]


@pytest.mark.usefixtures("leaves_a_process")
def test_a_transaction_with_a_process_that_is_left_commits_nothing(engine: AheadEngine, tmp_path: Path) -> None:
    with opened(engine, workspace=tmp_path) as executor:
        leave_process(executor, "change")
    assert engine.sandboxes[0].fileno() == -1
    assert busy._MARKS.removals == []


def test_so_many_sandboxes_are_closed_at_a_time_then_calls_wait(
    engine: AheadEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keeper, "MAX_USED", 2)
    with opened(engine) as executor, ThreadPoolExecutor(3) as threads:
        engine.may_close.clear()
        calls = [threads.submit(executor.run, "word", {}) for _ in range(3)]
        until(lambda: sum(each.done() for each in calls) == 2)
        time.sleep(0.02)
        assert sum(each.done() for each in calls) == 2
        engine.may_close.set()
        assert not any(each.result().is_error for each in calls)
        until(lambda: not keeper.KEEPER._used_count)
        assert not executor.run("word", {}).is_error


def test_a_sandbox_that_cannot_be_closed_is_reported(engine: AheadEngine, caplog: pytest.LogCaptureFixture) -> None:
    with opened(engine) as executor:
        engine.may_close.clear()
        executor.run("word", {})
        engine.sandboxes[0].failure = InfrastructureError("its processes hang in the kernel")
        engine.may_close.set()
    assert caplog.messages == ["its processes hang in the kernel"]


def test_an_executor_that_is_closed_after_its_call_starts_no_other_sandbox(
    engine: AheadEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Longer than any delay of a loaded machine.
    monkeypatch.setattr(keeper, "REST_SECONDS", 60.0)
    for _ in range(3):
        with opened(engine) as executor:
            executor.run("word", {})
    assert len(engine.profiles) == 3


def test_an_interrupted_lease_leaves_no_sandbox(engine: AheadEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    with warmed(engine) as executor:
        with monkeypatch.context() as patch:
            patch.setattr(PoolSandbox, "confirm", interrupt)
            with pytest.raises(KeyboardInterrupt):
                executor.run("word", {})
        until(lambda: engine.sandboxes[1].fileno() == -1)
        assert [each.calls for each in keeper.KEEPER._entries.values()] == [0]
        until_waiting(executor)
        assert was_leased(executor.run("word", {}))


def test_an_interrupted_wait_gives_its_sandbox_to_the_next_call(
    engine: AheadEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(engine) as executor:
        with starting(engine, executor):
            with monkeypatch.context() as patch:
                patch.setattr(entry.Claim, "wait", interrupt)
                with pytest.raises(KeyboardInterrupt):
                    executor.run("word", {})
            assert [(each.calls, len(each.claims)) for each in keeper.KEEPER._entries.values()] == [(0, 0)]
        until_waiting(executor)
        assert was_leased(executor.run("word", {}))
