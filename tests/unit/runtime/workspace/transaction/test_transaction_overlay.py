import os
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from workspaces.edited_workspace import BEFORE, workspace
from workspaces.transaction_cases import DONE, call, changes_of, doing, paths, tool, tree

from toolc.model.errors import InfrastructureError
from toolc.model.plan import Plan, Profile
from toolc.model.result import Outcome
from toolc.runtime.cancellation import Cancellation
from toolc.runtime.workspace.transaction import baseline, transaction
from toolc.runtime.workspace.transaction.baseline import Baseline, ChangeClock
from toolc.sandbox.interface import Capabilities
from toolc.testing.fake_engine import FakeEngine, FakeSandbox

__all__ = ["workspace"]


class OverlayEngine(FakeEngine):
    """An engine whose tool runs ``act`` in the upper directory."""

    def __init__(self, act: Callable[[Path], object]) -> None:
        super().__init__(self._run)
        self._act = act

    def _run(self, plan: Plan) -> Outcome:
        assert plan.profile.workspace is not None
        self._act(Path(plan.profile.workspace.scratch) / "upper")
        return DONE

    def capabilities(self) -> tuple[Capabilities, ...]:
        return (Capabilities(overlay_obstacle=""),)

    def start(self, profile: Profile, arguments: Sequence[str]) -> FakeSandbox:
        assert profile.workspace is not None
        (Path(profile.workspace.scratch) / "upper").mkdir()
        return super().start(profile, arguments)


def set_marker(path: Path, name: str) -> None:
    os.setxattr(path, f"user.overlay.{name}", b"y")


needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can create the marker of a deleted file")


WORKSPACES = pytest.mark.parametrize(
    "is_recorded", [True, False], ids=["recorded", "too large to record"], indirect=True
)


@pytest.fixture
def is_recorded(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if not request.param:
        monkeypatch.setattr(baseline, "MAX_ENTRIES", 0)


@needs_root
@WORKSPACES
@pytest.mark.usefixtures("is_recorded")
def test_markers_represent_deletions_and_opaque_folders(workspace: Path) -> None:
    def act(upper: Path) -> None:
        os.mknod(upper / "a", 0o020000, os.makedev(0, 0))
        os.mknod(upper / "never", 0o020000, os.makedev(0, 0))
        (upper / "d").mkdir()
        set_marker(upper / "d", "opaque")
        (upper / "d" / "sub").mkdir()
        (upper / "d" / "x").write_text("x\n")

    result = call(OverlayEngine(act), tool(), workspace)
    assert paths(result) == {"added": [], "changed": [], "deleted": ["a", "d/sub/y"]}
    assert tree(workspace) == {"b": "b\n", "d": "folder", "d/sub": "folder", "d/x": "x\n"}


@WORKSPACES
@pytest.mark.usefixtures("is_recorded")
def test_a_file_that_another_process_removed_is_not_created_again(workspace: Path) -> None:
    """An entry that originates from a real file was removed if its folder has changed since."""

    def act(upper: Path) -> None:
        (upper / "a").write_text("new\n")
        set_marker(upper / "a", "origin")
        (upper / "moved").write_text("b\n")
        set_marker(upper / "moved", "origin")

    assert not call(OverlayEngine(act), tool(), workspace).is_error
    assert (workspace / "moved").exists()

    def act_while_removed(upper: Path) -> None:
        act(upper)
        (upper / "a").write_text("newer\n")
        (workspace / "a").unlink()

    assert "- a: it was changed by another process" in call(OverlayEngine(act_while_removed), tool(), workspace).text
    assert not (workspace / "a").exists()


@WORKSPACES
@pytest.mark.usefixtures("is_recorded")
def test_a_file_written_just_before_the_call_is_not_a_conflict(workspace: Path) -> None:
    for number in range(5):
        (workspace / "a").write_text(f"{number}\n")
        result = call(OverlayEngine(lambda upper: (upper / "a").write_text("new\n")), tool(), workspace)
        assert not result.is_error, result.text


def test_unrecorded_files_count_as_changed_if_the_clock_was_set_back(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def act(upper: Path) -> None:
        (upper / "a").write_text("new\n")

    monkeypatch.setattr(ChangeClock, "was_set_back", lambda _: True)
    assert not call(OverlayEngine(act), tool(), workspace).is_error
    (workspace / "a").write_text("a\n")
    monkeypatch.setattr(baseline, "MAX_ENTRIES", 0)
    assert "- a: it was changed by another process" in call(OverlayEngine(act), tool(), workspace).text
    assert tree(workspace) == BEFORE


def test_a_clock_that_was_set_back_is_detected() -> None:
    clock = ChangeClock.now()
    time.sleep(0.01)
    assert not clock.was_set_back()
    assert ChangeClock(clock.stamp_ns + 10**9, clock.running_ns).was_set_back()


@pytest.mark.parametrize("reading", range(3))
def test_a_delay_while_the_clocks_are_read_is_not_a_change(monkeypatch: pytest.MonkeyPatch, reading: int) -> None:
    started, readings, stalled_ns = ChangeClock.now(), iter(range(100)), 0

    def read(clock: int) -> int:
        nonlocal stalled_ns
        if next(readings) == reading:
            stalled_ns = 10**9
        return real(clock) + stalled_ns

    real = time.clock_gettime_ns
    monkeypatch.setattr(time, "clock_gettime_ns", read)
    assert not started.was_set_back()


def test_a_copy_is_used_if_the_overlay_cannot_be_mounted(workspace: Path) -> None:
    class FailingEngine(FakeEngine):
        def capabilities(self) -> tuple[Capabilities, ...]:
            return (Capabilities(overlay_obstacle=""),)

        def start(self, profile: Profile, arguments: Sequence[str]) -> FakeSandbox:
            if profile.workspace and profile.workspace.mode == "overlay":
                raise InfrastructureError("mount: operation not permitted")
            return super().start(profile, arguments)

    result = call(FailingEngine(lambda _: DONE), tool(), workspace)
    assert (changes_of(result)["view"], changes_of(result)["view_note"]) == ("copy", "mount: operation not permitted")


def test_a_cancelled_call_commits_nothing(workspace: Path) -> None:
    released = threading.Event()
    with Cancellation() as cancellation:

        def act(view: Path) -> None:
            (view / "a").write_text("new\n")
            cancellation.cancel()
            released.wait()

        result = call(doing(act), tool(commit="always"), workspace, cancellation=cancellation)
        released.set()
    assert result.error is not None
    assert (result.error.kind, changes_of(result)["reason"]) == ("cancelled", "the call was cancelled")
    assert tree(workspace) == BEFORE


def test_files_are_recorded_while_the_sandbox_starts(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started, recorded = threading.Event(), threading.Event()
    record = baseline.record

    def record_late(*arguments: Any) -> Baseline:
        assert started.wait(60)
        time.sleep(0.05)
        recorded.set()
        return record(*arguments)

    class Starting(OverlayEngine):
        def start(self, profile: Profile, arguments: Sequence[str]) -> FakeSandbox:
            started.set()
            return super().start(profile, arguments)

    def act(upper: Path) -> None:
        assert recorded.is_set()
        (upper / "a").write_text("new\n")

    monkeypatch.setattr(transaction, "record", record_late)
    assert not call(Starting(act), tool(), workspace).is_error
    assert (workspace / "a").read_text() == "new\n"
