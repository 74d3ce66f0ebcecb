"""An overlay's upper side, read without a kernel's help: what its marks mean, and when nothing is trusted."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from edited_workspace import BEFORE, workspace
from transaction_cases import DONE, call, doing, paths, told, tool, tree

from toolc.model.errors import InfrastructureError
from toolc.model.plan import Profile
from toolc.runtime.cancellation import Cancellation
from toolc.runtime.workspace.transaction.transaction import ChangeClock
from toolc.testing.fake_engine import FakeEngine, FakeSandbox

__all__ = ["workspace"]


class OverlayEngine(FakeEngine):
    """An engine whose tool leaves an upper side as ``act`` makes it."""

    def __init__(self, act: Callable[[Path], object]) -> None:
        super().__init__(lambda _: DONE)
        self._act = act

    def overlay_obstacle(self, profile: Profile) -> str | None:
        return None

    def start(self, profile: Profile, arguments: Sequence[str]) -> FakeSandbox:
        assert profile.workspace is not None
        upper = Path(profile.workspace.scratch) / "upper"
        upper.mkdir()
        self._act(upper)
        return super().start(profile, arguments)


def mark(path: Path, name: str) -> None:
    os.setxattr(path, f"user.overlay.{name}", b"y")


needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can make the mark of a deleted file")


@needs_root
def test_marks_are_deletions_and_folders_that_hide_what_was_there(workspace: Path) -> None:
    def act(upper: Path) -> None:
        os.mknod(upper / "a", 0o020000, os.makedev(0, 0))
        os.mknod(upper / "never", 0o020000, os.makedev(0, 0))
        (upper / "d").mkdir()
        mark(upper / "d", "opaque")
        (upper / "d" / "sub").mkdir()
        (upper / "d" / "x").write_text("x\n")

    result = call(OverlayEngine(act), tool(), workspace)
    assert paths(result) == {"added": [], "changed": [], "deleted": ["a", "d/sub/y"]}
    assert tree(workspace) == {"b": "b\n", "d": "folder", "d/sub": "folder", "d/x": "x\n"}


def test_a_file_of_theirs_that_is_gone_is_not_made_again(workspace: Path) -> None:
    """What began as a real file and has none now was removed, if its folder was changed meanwhile."""

    def act(upper: Path) -> None:
        (upper / "a").write_text("new\n")
        mark(upper / "a", "origin")
        (upper / "moved").write_text("b\n")
        mark(upper / "moved", "origin")

    assert not call(OverlayEngine(act), tool(), workspace).is_error
    assert (workspace / "moved").exists()

    def act_while_removed(upper: Path) -> None:
        act(upper)
        (workspace / "a").unlink()

    assert "- a: it was changed by somebody else" in call(OverlayEngine(act_while_removed), tool(), workspace).text
    assert not (workspace / "a").exists()


def test_a_file_that_was_written_just_before_the_call_is_no_conflict(workspace: Path) -> None:
    for number in range(5):
        (workspace / "a").write_text(f"{number}\n")
        result = call(OverlayEngine(lambda upper: (upper / "a").write_text("new\n")), tool(), workspace)
        assert not result.is_error, result.text


def test_where_the_clock_was_set_back_nothing_is_trusted(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ChangeClock, "clock_was_set_back", lambda _: True)
    result = call(OverlayEngine(lambda upper: (upper / "a").write_text("new\n")), tool(), workspace)
    assert "the clock was set back meanwhile" in result.text
    assert tree(workspace) == BEFORE


def test_a_moment_knows_whether_the_clock_went_back() -> None:
    moment = ChangeClock.now()
    time.sleep(0.01)
    assert not moment.clock_was_set_back()
    assert ChangeClock(moment.stamp_ns + 10**9, moment.running_ns).clock_was_set_back()


@pytest.mark.parametrize("reading", range(3))
def test_a_process_that_is_held_up_while_it_reads_the_clocks_takes_none_for_set_back(
    monkeypatch: pytest.MonkeyPatch, reading: int
) -> None:
    moment, readings, stalled_ns = ChangeClock.now(), iter(range(100)), 0

    def read(clock: int) -> int:
        nonlocal stalled_ns
        if next(readings) == reading:
            stalled_ns = 10**9
        return real(clock) + stalled_ns

    real = time.clock_gettime_ns
    monkeypatch.setattr(time, "clock_gettime_ns", read)
    assert not moment.clock_was_set_back()


def test_an_overlay_that_cannot_be_mounted_becomes_a_copy_and_says_why(workspace: Path) -> None:
    def act(_: Path) -> None:
        raise InfrastructureError("mount: operation not permitted")

    class Refusing(OverlayEngine):
        def start(self, profile: Profile, arguments: Sequence[str]) -> FakeSandbox:
            if profile.workspace and profile.workspace.mode == "overlay":
                return super().start(profile, arguments)
            return FakeEngine.start(self, profile, arguments)

    result = call(Refusing(act), tool(), workspace)
    assert (told(result)["view"], told(result)["view_note"]) == ("copy", "mount: operation not permitted")


def test_a_cancelled_call_commits_nothing_whatever_the_spec_says(workspace: Path) -> None:
    over = threading.Event()
    with Cancellation() as cancellation:

        def act(view: Path) -> None:
            (view / "a").write_text("new\n")
            cancellation.cancel()
            over.wait()

        result = call(doing(act), tool(commit="always"), workspace, cancellation=cancellation)
        over.set()
    assert result.error is not None
    assert (result.error.kind, told(result)["reason"]) == ("cancelled", "the call was cancelled")
    assert tree(workspace) == BEFORE
