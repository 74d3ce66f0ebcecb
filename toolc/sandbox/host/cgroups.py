"""Control groups of both versions: which ones can be used here, and the values of their counters.

``cgroups(7)`` describes the formats. If version 1 controllers are mounted, the runtime uses them, even if a version 2
tree is mounted as well (hybrid).
"""

import os
import threading
from pathlib import Path, PurePosixPath
from typing import Final

from toolc.dataclass import dataclass
from toolc.model.errors import raise_shortage
from toolc.model.json_schema import JsonObject
from toolc.sandbox.host import janitor
from toolc.sandbox.host.owner import Owner

CONTROLLERS: Final = ("memory", "pids", "cpu")
"""The controllers that toolc's limits need."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tree:
    """One mounted hierarchy: its mount point, the group at the mount point, and its controllers.

    ``controllers`` is empty for version 2, where each group lists its own.
    """

    version: int
    mount_point: Path
    root: str
    controllers: tuple[str, ...]

    def folder(self, group: str) -> Path:
        """Return the folder of the group that ``/proc/PID/cgroup`` calls ``group``."""
        inside = PurePosixPath(group).is_relative_to(self.root)
        return self.mount_point / (PurePosixPath(group).relative_to(self.root) if inside else group.lstrip("/"))


def trees(mountinfo: str) -> list[Tree]:
    """Return the hierarchies in the text of proc_pid_mountinfo(5)."""
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
    """A process's group for one controller. The runtime creates the group of a sandbox in ``parent``."""

    version: int
    folder: Path
    parent: Path


def own_groups() -> dict[str, Group]:
    """Return this process's group for each mounted controller in ``CONTROLLERS``. Raises ``OSError``."""
    mountinfo = Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="replace")
    return groups(mountinfo, Path("/proc/self/cgroup").read_text(encoding="utf-8"))


def groups(mountinfo: str, memberships: str) -> dict[str, Group]:
    """Return the groups according to the texts of proc_pid_mountinfo(5) and of ``/proc/PID/cgroup``."""
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
    # In version 2 no group has both processes and limited children: the runtime creates a sibling of this group.
    is_sibling = tree.version == 2 and folder != tree.mount_point
    return Group(version=tree.version, folder=folder, parent=folder.parent if is_sibling else folder)


def unenforceable() -> list[str]:
    """Return the controllers in ``CONTROLLERS`` that cannot limit a child of this process, found by trying.

    Raises ``InfrastructureError`` if too many open files prevent the check.
    """
    try:
        own = own_groups()
    except OSError as error:
        raise_shortage(error)
        return [*CONTROLLERS]
    return [name for name in CONTROLLERS if name not in own or not can_limit(name, own[name])]


def can_limit(controller: str, group: Group) -> bool:
    """Return whether a limited group of this controller can be created for a child of a process in ``group``.

    Raises ``InfrastructureError`` if the janitor, which removes the group after a ``kill -9``, cannot be started.
    """
    if group.version == 2 and not _offers(controller, group):
        return False
    # The name is like that of a sandbox, so that the janitor removes the group if this process is killed here.
    name = f"toolc-{Owner.current().label()}"
    janitor.register("control group", name)
    probe = group.parent / f"{name}-{threading.get_ident()}"
    try:
        probe.mkdir()
        probe.rmdir()
    except OSError:
        return False
    return True


def _offers(controller: str, group: Group) -> bool:
    """Return whether a version 2 sibling of ``group`` can have the controller, and processes can be moved to it.

    Moving a process needs write permission for ``cgroup.procs`` of the nearest common ancestor.
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
    except OSError as error:
        raise_shortage(error)
        return []


def swap_limit(memory_bytes: int) -> JsonObject:
    """Return the setting that keeps memory above the limit from being swapped out, if this kernel supports it."""
    memory = own_groups()["memory"]
    if memory.version == 1:
        accounted = (memory.folder / "memory.memsw.limit_in_bytes").exists()
        return {"swap": memory_bytes} if accounted else {"swappiness": 0}
    # The root group of version 2 never has this file, whatever the kernel supports.
    is_root = not (memory.folder / "cgroup.type").exists()
    return {"swap": memory_bytes} if is_root or (memory.folder / "memory.swap.max").exists() else {}


def memory_events(name: str) -> Path:
    """Return the path of the file with the memory counters of the sandbox ``name``, which this process starts."""
    memory = own_groups()["memory"]
    return memory.parent / name / ("memory.oom_control" if memory.version == 1 else "memory.events")


def process_events(name: str) -> Path:
    """Return the path of the file that counts the processes that the limit of the sandbox ``name`` has refused."""
    return own_groups()["pids"].parent / name / "pids.events"


def oom_kills(events: Path) -> int | None:
    """Return how many processes the kernel killed because memory ran out, or None if the sandbox has ended.

    Raises ``InfrastructureError`` if too many open files prevent the check.
    """
    return _counter(events, b"oom_kill")


def refused_processes(events: Path) -> int | None:
    """Return how many processes and threads the limit has refused. See ``oom_kills``."""
    return _counter(events, b"max")


def _counter(events: Path, name: bytes) -> int | None:
    try:
        # Every call reads this, so it avoids the overhead of a text stream.
        descriptor = os.open(events, os.O_RDONLY | os.O_CLOEXEC)
        try:
            words = os.read(descriptor, 4096).split()
        finally:
            os.close(descriptor)
        return int(words[words.index(name) + 1])
    except (OSError, ValueError) as error:
        raise_shortage(error)
        return None
