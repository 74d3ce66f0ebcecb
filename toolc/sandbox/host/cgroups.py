"""Control groups of both versions: which can be used here, and what their counters say.

``cgroups(7)`` gives the formats. Where version 1 controllers are mounted they are the ones the runtime
uses, also beside a version 2 tree (hybrid).
"""

from __future__ import annotations

import contextlib
import os
import threading
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final

from toolc.model.json_schema import JsonObject
from toolc.sandbox.host.owner import Owner

__all__ = [
    "trees",
]

CONTROLLERS: Final = ("memory", "pids", "cpu")
"""What toolc's limits need."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tree:
    """One mounted hierarchy: where, which of its groups is at the mount point, and its controllers.

    ``version`` 2 has no names in ``controllers``: each group says itself what it has.
    """

    version: int
    mount_point: Path
    root: str
    controllers: tuple[str, ...]

    def folder(self, group: str) -> Path:
        """Where the group that ``/proc/PID/cgroup`` calls ``group`` is found."""
        inside = PurePosixPath(group).is_relative_to(self.root)
        return self.mount_point / (PurePosixPath(group).relative_to(self.root) if inside else group.lstrip("/"))


def trees(mountinfo: str) -> list[Tree]:
    """The hierarchies in the text of proc_pid_mountinfo(5)."""
    found = []
    for line in mountinfo.splitlines():
        before, _, after = line.partition(" - ")
        _, _, _, root, mount_point, *_ = before.split(" ")
        kind, _, options = after.split(" ", 2)
        if kind in {"cgroup", "cgroup2"}:
            controllers = tuple(options.split(",")) if kind == "cgroup" else ()
            version = 1 if kind == "cgroup" else 2
            found.append(Tree(version=version, mount_point=Path(mount_point), root=root, controllers=controllers))
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """A process's group for one controller; ``parent`` is where the runtime makes a sandbox's own group."""

    version: int
    folder: Path
    parent: Path


def own_groups() -> dict[str, Group]:
    """This process's groups for each of ``CONTROLLERS`` that is mounted. Raises ``OSError``."""
    mountinfo = Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="replace")
    return groups(mountinfo, Path("/proc/self/cgroup").read_text(encoding="utf-8"))


def groups(mountinfo: str, memberships: str) -> dict[str, Group]:
    """The same from the texts of proc_pid_mountinfo(5) and of ``/proc/PID/cgroup``."""
    mounted = trees(mountinfo)
    names = {}
    for line in memberships.splitlines():
        _, controllers, name = line.split(":", 2)
        names.update(dict.fromkeys(controllers.split(","), name))
    found: dict[str, Group] = {}
    for controller in CONTROLLERS:
        version = 1 if controller in names else 2
        name = names.get(controller, names.get("", "/"))
        for tree in mounted:
            if tree.version == version and (version == 2 or controller in tree.controllers):
                found[controller] = _group(tree, tree.folder(name))
    return found


def _group(tree: Tree, folder: Path) -> Group:
    # Version 2 lets no group have both processes and limited children: the runtime makes ours beside our own.
    beside = tree.version == 2 and folder != tree.mount_point
    return Group(version=tree.version, folder=folder, parent=folder.parent if beside else folder)


def unenforceable() -> list[str]:
    """Which of ``CONTROLLERS`` this process cannot limit a child with, found by trying."""
    with contextlib.suppress(OSError):
        own = own_groups()
        return [name for name in CONTROLLERS if name not in own or not can_limit(name, own[name])]
    return [*CONTROLLERS]


def can_limit(controller: str, group: Group) -> bool:
    """Whether a group with a limit of this controller can be made for a child of a process of ``group``."""
    if group.version == 2 and not _offers(controller, group):
        return False
    # Named as a sandbox's, so that it is removed as one if this process is killed right here.
    probe = group.parent / f"toolc-{Owner.current().label()}-{threading.get_ident()}"
    try:
        probe.mkdir()
        probe.rmdir()
    except OSError:
        return False
    return True


def _offers(controller: str, group: Group) -> bool:
    """Whether a version 2 group beside ``group`` has the controller, or can be given it, and be moved to.

    To move there takes the right to write ``cgroup.procs`` of the nearest group above both.
    """
    if group.parent != group.folder and not os.access(group.parent / "cgroup.procs", os.W_OK):
        return False
    if controller in _words(group.parent / "cgroup.subtree_control"):
        return True
    offered = controller in _words(group.parent / "cgroup.controllers")
    return offered and os.access(group.parent / "cgroup.subtree_control", os.W_OK)


def _words(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8").split()
    except OSError:
        return []


def swap_limit(memory_bytes: int) -> JsonObject:
    """What to add to the memory limit so that nothing beyond it goes to swap, as this kernel offers it."""
    memory = own_groups()["memory"]
    if memory.version == 1:
        accounted = (memory.folder / "memory.memsw.limit_in_bytes").exists()
        return {"swap": memory_bytes} if accounted else {"swappiness": 0}
    # The root group of version 2 has no such file whatever the kernel can do.
    is_root = not (memory.folder / "cgroup.type").exists()
    return {"swap": memory_bytes} if is_root or (memory.folder / "memory.swap.max").exists() else {}


def memory_events(name: str) -> Path:
    """The file of counters that the sandbox ``name``, started by this process, has or will have."""
    memory = own_groups()["memory"]
    return memory.parent / name / ("memory.oom_control" if memory.version == 1 else "memory.events")


def oom_kills(events: Path) -> int | None:
    """How many processes the kernel killed for want of memory, by such a file; None if the sandbox is gone."""
    try:
        lines = events.read_text(encoding="utf-8").splitlines()
        return int(dict(line.split(" ", 1) for line in lines)["oom_kill"])
    except (OSError, ValueError, KeyError):
        return None
