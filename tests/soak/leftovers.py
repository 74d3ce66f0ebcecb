"""Find what a killed owner left: everything with its label, or with the id of one of its containers.

Processes that it or its children started are found because they become children of this process (see ``adopting``).
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import quote

from daemon_places import SECONDS, DaemonPlaces

from toolc.sandbox.docker.daemon import OWNER_LABEL

TOPS: Final = tuple(Path(name) for name in ("/run/toolc", "/sys/fs/cgroup", "/run/runsc", "/run/runc", "/run/user"))
"""The folders of runtimes, control groups and the state of runtimes."""

GIVEN: Final = ("tmp", "state", "store", "cache")
"""The folders in environment variables such as ``XDG_STATE_HOME``."""

ALLOWED: Final = ("tmp/toolc-1234", "state/toolc", "state/toolc/scratch", "store/scratch")
"""The empty folders that every process may leave: owners create their own folders inside."""

LOCKS: Final = "tmp/toolc-1234/locks"
"""The folder of the workspaces' locks: the empty file of a killed process is removed by the next commit there."""

RUNTIMES: Final = "store/runtimes"
"""The version of runc, which later processes need."""

PAUSE_SECONDS: Final = 0.02

_PR_SET_CHILD_SUBREAPER: Final = 36


@dataclass(frozen=True, slots=True, kw_only=True)
class Before:
    """The state before the owner started, which cannot belong to it."""

    children: frozenset[int]
    mounts: frozenset[str]
    given: frozenset[str] = frozenset()

    @staticmethod
    def look(daemon: DaemonPlaces | None, top: Path | None = None) -> Before:
        """Return the current state. ``top`` contains the folders of the owner, as for ``Owned``."""
        mounts = daemon.mounts() if daemon else frozenset()
        return Before(children=frozenset(children(os.getpid())), mounts=mounts, given=frozenset(_given(top)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Owned:
    """A process that created sandboxes. ``top`` contains the folders that only it used, if any."""

    label: str
    before: Before
    daemon: DaemonPlaces | None = None
    containers: tuple[str, ...] = ()
    top: Path | None = None

    def remains(self) -> Iterator[str]:
        """Yield a line for each remaining item. What is fast to find comes first."""
        yield from self._descendants()
        yield from self._given()
        yield from self._mounts()
        yield from self._processes()
        yield from self._named()
        yield from self._daemons()
        yield from self._unheld()

    def _words(self) -> tuple[str, ...]:
        return (self.label, *self.containers)

    def _descendants(self) -> Iterator[str]:
        for pid in children(os.getpid()):
            if pid not in self.before.children and not _reaped(pid):
                yield f"process {pid}, started by the owner: {_command(pid)}"

    def _processes(self) -> Iterator[str]:
        words = [word.encode() for word in self._words()]
        for process in Path("/proc").glob("[0-9]*"):
            try:
                texts = (process / "cmdline").read_bytes(), (process / "cgroup").read_bytes()
            except OSError:
                continue
            if any(word in text for word in words for text in texts):
                yield f"process {process.name}: {_command(int(process.name))}"

    def _named(self) -> Iterator[str]:
        for top in (*TOPS, *(self.daemon.folders() if self.daemon else ())):
            for folder, names, files in os.walk(top):
                for name in (*names, *files):
                    if any(word in name for word in self._words()):
                        yield f"folder {folder}/{name}"

    def _given(self) -> Iterator[str]:
        known = {*ALLOWED, *self.before.given}
        yield from (
            f"given folder: {path}"
            for path in _given(self.top)
            if path not in known and not path.startswith((LOCKS, RUNTIMES))
        )

    def _mounts(self) -> Iterator[str]:
        for line in Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines():
            if any(word in line for word in self._words()):
                yield f"mount {line}"

    def _daemons(self) -> Iterator[str]:
        if self.daemon is None:
            return
        filters = quote(json.dumps({"label": [f"{OWNER_LABEL}={self.label}"]}))
        listed = self.daemon.client.call("GET", f"/containers/json?all=1&filters={filters}", timeout=SECONDS)
        for entry in listed if isinstance(listed, list) else []:
            if isinstance(entry, dict):
                yield f"container {entry.get('State')} {str(entry.get('Id'))[:12]}"
        volumes = self.daemon.client.call("GET", "/volumes", timeout=SECONDS)
        found = volumes.get("Volumes") if isinstance(volumes, dict) else None
        for entry in found if isinstance(found, list) else []:
            if self.label in json.dumps(entry):
                yield f"volume {entry}"
        for container in self.daemon.connected().intersection(self.containers):
            yield f"endpoint of {container[:12]}"

    def _unheld(self) -> Iterator[str]:
        """Yield mounts of the daemon, including network namespaces, that belong to no container."""
        if self.daemon is None or not (newer := self.daemon.mounts() - self.before.mounts):
            return
        held = self.daemon.held()
        # A mount whose container was removed during the listing no longer exists.
        for point in sorted((newer - held) & self.daemon.mounts()):
            yield f"mount without a container {point}"


def seconds_until_clean(owned: Owned, timeout: float) -> float:
    """Return the seconds until nothing remains. Raise ``AssertionError`` with the remaining items after ``timeout``."""
    began = time.monotonic()
    while next(owned.remains(), None) is not None:
        assert time.monotonic() - began < timeout, "\n".join(owned.remains())
        time.sleep(PAUSE_SECONDS)
    return time.monotonic() - began


@contextlib.contextmanager
def adopting() -> Iterator[None]:
    """Make orphaned descendants children of this process (``PR_SET_CHILD_SUBREAPER``)."""
    libc = ctypes.CDLL(None)
    libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    try:
        yield
    finally:
        libc.prctl(_PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)


def _given(top: Path | None) -> Iterator[str]:
    if top is None:
        return
    for given in GIVEN:
        for folder, names, files in os.walk(top / given):
            yield from (str(Path(folder, name).relative_to(top)) for name in (*names, *files))


def children(pid: int) -> list[int]:
    """Return the child processes of ``pid``."""
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            found += map(int, task.read_text(encoding="ascii").split())
    return found


def _reaped(pid: int) -> bool:
    try:
        return os.waitpid(pid, os.WNOHANG)[0] == pid
    except ChildProcessError:
        return True


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")[:200]
    except OSError:
        return "exited"
