"""Control groups that are delegated to an ordinary user, in all hierarchies of this host."""

import contextlib
import itertools
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from toolc.sandbox.host import cgroups

_NUMBERS: Final = itertools.count(1)
_TIMEOUT_SECONDS: Final = 60.0
"""Seconds until the last process in them, a janitor, has done its work, on a machine that stalls."""


@contextmanager
def delegated(uid: int) -> Iterator[tuple[Path, ...]]:
    """Yield groups of ``uid``, removed afterwards. A process joins one by writing its pid to ``cgroup.procs``.

    With version 1 one in each hierarchy; with version 2 one below another that is also ``uid``'s, as in
    the session that systemd gives a user. Needs root.
    """
    # Separate names: groups that could not be removed must not affect the next test.
    name = f"toolc-test-{os.getpid()}-{next(_NUMBERS)}"
    mountinfo = Path("/proc/self/mountinfo").read_text(encoding="utf-8")
    trees = cgroups.trees(mountinfo)
    first = [tree for tree in trees if tree.version == 1 and "name=systemd" not in tree.controllers]
    made: list[Path] = []
    try:
        for tree in first or trees:
            top = tree.mount_point / name
            made.append(top)
            top.mkdir()
            if tree.version == 1:
                _own(top, uid)
                _inherit_processors(top)
            else:
                _delegate(tree.mount_point, top, uid)
        yield tuple(made) if first else (made[0] / "session",)
    finally:
        with contextlib.ExitStack() as undo:
            for top in made:
                undo.callback(_remove, top)


def join(groups: tuple[Path, ...]) -> None:
    for group in groups:
        (group / "cgroup.procs").write_text(f"{os.getpid()}", encoding="ascii")


def _delegate(root: Path, top: Path, uid: int) -> None:
    controllers = " ".join(f"+{name}" for name in cgroups.CONTROLLERS)
    (root / "cgroup.subtree_control").write_text(controllers, encoding="ascii")
    (top / "cgroup.subtree_control").write_text(controllers, encoding="ascii")
    (top / "session").mkdir()
    for folder in (top, top / "session"):
        _own(folder, uid)


def _own(folder: Path, uid: int) -> None:
    for path in (folder, *(folder / f"cgroup.{end}" for end in ("procs", "subtree_control", "threads"))):
        if path.exists():
            os.chown(path, uid, uid)


def _inherit_processors(folder: Path) -> None:
    for name in ("cpuset.cpus", "cpuset.mems"):
        if (folder / name).exists():
            (folder / name).write_text((folder.parent / name).read_text(encoding="ascii"), encoding="ascii")


def _remove(top: Path) -> None:
    deadline = time.monotonic() + _TIMEOUT_SECONDS
    while time.monotonic() < deadline:
        for folder, _, _ in os.walk(top, topdown=False):
            with contextlib.suppress(OSError):
                Path(folder).rmdir()
        if not top.exists():
            return
        time.sleep(0.01)
    raise AssertionError(f"{top} is still used")
