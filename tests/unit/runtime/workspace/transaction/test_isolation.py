"""Random histories of a tool and another process in one workspace, compared with a model of the isolation."""

import os
import shutil
import tempfile
from pathlib import Path
from typing import Any, Literal
from unittest import mock

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule
from workspaces.isolation_model import FOLDER, History, committed, described, parents, snapshot
from workspaces.real_views import View, can_mount_overlays
from workspaces.transaction_cases import changes_of, tool

from toolc.model.result import ToolResult
from toolc.runtime.workspace.transaction import baseline

PATHS = st.sampled_from(["a", "b", "d", "d/a", "d/b", "d/e", "d/e/a", "f"])
TEXTS = st.sampled_from(["1", "2", "3"])
MODES = st.sampled_from([0o600, 0o640, 0o644, 0o700, 0o755])
BASES = st.lists(st.sampled_from(["a", "b", "d/a", "d/e/a", "d/e/b", "f/a"]), max_size=5, unique=True)


def _write(top: Path, path: str, text: str) -> None:
    if (top / path).is_symlink():
        (top / path).unlink()
    (top / path).write_text(text)


def _save(top: Path, path: str, text: str) -> None:
    """Write as editors do: to a new file that replaces the old one."""
    if (top / path).is_dir():
        raise IsADirectoryError
    (top / path).with_name("draft").write_text(text)
    (top / path).with_name("draft").rename(top / path)


def _edit_unnoticed(top: Path, path: str, text: str) -> None:
    status = (top / path).lstat()
    if (top / path).is_symlink() or len((top / path).read_text()) != len(text):
        raise OSError
    (top / path).write_text(text)
    os.utime(top / path, ns=(status.st_atime_ns, status.st_mtime_ns))


def _remove(top: Path, path: str) -> None:
    if (top / path).is_dir() and not (top / path).is_symlink():
        shutil.rmtree(top / path)
    else:
        (top / path).unlink()


def _chmod(top: Path, path: str, mode: int) -> None:
    if (top / path).is_symlink():
        raise OSError
    (top / path).chmod(mode | 0o100 if (top / path).is_dir() else mode)


def _acts(top: Path, act: Any, *paths: str, **arguments: Any) -> bool:
    """Run ``act``; return whether that was possible. It does not act on other paths, through links."""
    if any((top / folder).is_symlink() for path in paths for folder in parents(path)):
        return False
    try:
        act(top, *paths, **arguments)
    except OSError:
        return False
    return True


class TwoWriters(RuleBasedStateMachine):
    """``view`` is None between the calls of the tool."""

    def __init__(self) -> None:
        super().__init__()
        self.top = Path(tempfile.mkdtemp())
        self.real = self.top / "work"
        self.real.mkdir()
        self.view: View | None = None
        self.kind: Literal["copy", "overlay", "unrecorded"] = "copy"
        self.others_acted = False
        # A power failure is not tested here.
        self.patches: list[Any] = [mock.patch.object(os, "fsync")]
        for patch in self.patches:
            patch.start()

    @initialize(
        kind=st.sampled_from(["copy", "overlay", "unrecorded"] if can_mount_overlays() else ["copy"]), files=BASES
    )
    def begin(self, kind: Any, files: list[str]) -> None:
        self.kind = kind
        if kind == "unrecorded":
            self.patches.append(mock.patch.object(baseline, "MAX_ENTRIES", 0))
            self.patches[-1].start()
        for name in files:
            (self.real / name).parent.mkdir(parents=True, exist_ok=True)
            (self.real / name).write_text("0")
        self._open()

    def _open(self) -> None:
        self.history = History(snapshot(self.real))
        self.chmods: set[str] = set()
        self.others_acted = False
        self.view = View(tool(), self.real, copy=self.kind == "copy")

    def _tool(self, act: Any, *paths: str, **arguments: Any) -> None:
        assert self.view is not None
        seen = snapshot(self.view.folder)
        for path in paths:
            # An overlay also shows what others have added, and may show less of a folder that they have replaced. What
            # happens to the tool's changes there is not defined.
            if self.kind != "copy" and not self.history.renewed.isdisjoint({path, *parents(path)}):
                return
            for folder in parents(path):
                if folder not in self.history.base and folder not in self.history.mine:
                    return
        is_done = _acts(self.view.folder, act, *paths, **arguments)
        found = snapshot(self.view.folder)
        touched = {each for each in {*seen, *found} if seen.get(each) != found.get(each)}
        if is_done:
            known = {*paths, *seen, *self.history.base}
            touched |= {each for path in paths for each in known if each == path or each.startswith(f"{path}/")}
        self.history.mine |= {each: found.get(each) for each in touched}

    def _other(self, act: Any, *paths: str, **arguments: Any) -> None:
        before = snapshot(self.real)
        if not _acts(self.real, act, *paths, **arguments):
            return
        self.others_acted = True
        for path in paths:
            if act in (_remove, _replace):
                lost = {each for each in before if each == path or each.startswith(f"{path}/")}
                self.history.renewed |= {each for each in lost if before[each].kind == FOLDER}

    @precondition(lambda self: self.view)
    @rule(path=PATHS, text=TEXTS)
    def tool_writes(self, path: str, text: str) -> None:
        self._tool(_write, path, text=text)

    @precondition(lambda self: self.view)
    @rule(path=PATHS, mode=MODES)
    def tool_changes_mode(self, path: str, mode: int) -> None:
        self._tool(_chmod, path, mode=mode)

    @precondition(lambda self: self.view)
    @rule(path=PATHS)
    def tool_removes(self, path: str) -> None:
        self._tool(_remove, path)

    @precondition(lambda self: self.view)
    @rule(path=PATHS)
    def tool_makes_folder(self, path: str) -> None:
        self._tool(lambda top, path: (top / path).mkdir(), path)

    @precondition(lambda self: self.view)
    @rule(path=PATHS, new=PATHS)
    def tool_moves_file(self, path: str, new: str) -> None:
        def move(top: Path, path: str, new: str) -> None:
            if (top / path).is_dir() or (top / new).is_dir():
                raise IsADirectoryError
            (top / path).rename(top / new)

        self._tool(move, path, new)

    @precondition(lambda self: self.view)
    @rule(path=PATHS, text=st.sampled_from(["a", "b"]))
    def tool_links(self, path: str, text: str) -> None:
        self._tool(lambda top, path: (top / path).symlink_to(text), path)

    @rule(path=PATHS, text=TEXTS, way=st.sampled_from([_write, _save, _edit_unnoticed]))
    def other_writes(self, path: str, text: str, way: Any) -> None:
        self._other(way, path, text=text)

    @rule(path=PATHS)
    def other_writes_the_same(self, path: str) -> None:
        self._other(lambda top, path: _write(top, path, (top / path).read_text()), path)

    @rule(path=PATHS)
    def other_touches(self, path: str) -> None:
        self._other(lambda top, path: os.utime(top / path, (1, 1), follow_symlinks=False), path)

    @rule(path=PATHS, mode=MODES)
    def other_changes_mode(self, path: str, mode: int) -> None:
        # The tool does not see which of two modes an overlay has copied, so only one is given to a folder.
        if (self.real / path).is_dir() and path in self.chmods:
            return
        self.chmods.add(path)
        self._other(_chmod, path, mode=mode)

    @rule(path=PATHS)
    def other_removes(self, path: str) -> None:
        self._other(_remove, path)

    @rule(path=PATHS)
    def other_makes_folder(self, path: str) -> None:
        self._other(lambda top, path: (top / path).mkdir(), path)

    @rule(path=PATHS)
    def other_replaces_folder(self, path: str) -> None:
        self._other(_replace, path)

    @precondition(lambda self: self.view)
    @rule()
    def commit(self) -> None:
        assert self.view is not None
        theirs = snapshot(self.real)
        changes, conflicts = self.history.changes(theirs), self.history.conflicts(theirs)
        if self.kind == "unrecorded":
            # Without a record, it is not noticed that others removed what the tool then added.
            conflicts -= {path for path in changes if path in self.history.base and path not in theirs}
        result = self.view.finish()
        self.view = None
        self._check(result, conflicts)
        after = described(snapshot(self.real))
        assert after == (described(theirs) if result.is_error else committed(theirs, changes))
        assert sorted(path.name for path in self.top.iterdir()) == ["work"]
        self._open()

    def _check(self, result: ToolResult, conflicts: set[str]) -> None:
        if result.error is None:
            assert not conflicts
            return
        assert result.error.kind == "conflict", result.text
        found = changes_of(result)["conflicts"]
        assert isinstance(found, list)
        # Without a record, a folder may be listed instead of what the tool did in it.
        listed = {*found} | {path for path in conflicts if self.kind == "unrecorded" and {*parents(path)} & {*found}}
        assert conflicts <= listed
        # Without a record, also a file that was only touched counts as changed.
        assert conflicts or (self.kind == "unrecorded" and self.others_acted)
        assert self.kind != "copy" or conflicts == {*found}

    def teardown(self) -> None:
        if self.view is not None:
            self.view.close()
        for patch in reversed(self.patches):
            patch.stop()
        shutil.rmtree(self.top)


def _replace(top: Path, path: str) -> None:
    """Replace a folder by an equal one."""
    if not (top / path).is_dir():
        raise NotADirectoryError
    shutil.copytree(top / path, top / "aside", symlinks=True)
    shutil.rmtree(top / path)
    (top / "aside").rename(top / path)


def _test(examples: int, steps: int) -> Any:
    case = TwoWriters.TestCase
    case.settings = settings(
        max_examples=examples, stateful_step_count=steps, deadline=None, suppress_health_check=[*HealthCheck]
    )
    return case


TestHistories = _test(40, 12)


@pytest.mark.integrations
@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_many_histories() -> None:
    _test(500, 20)("runTest").runTest()
