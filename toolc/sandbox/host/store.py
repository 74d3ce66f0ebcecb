"""The per-user store on disk for reusable artifacts: unpacked images, packages and the portable Python.

Each artifact is created in a scratch folder, under a lock, and then renamed, so an incomplete one is never visible. Its
name identifies its content, so it never changes. The janitor of a killed process, or the next process that creates
an artifact, removes incomplete artifacts.
"""

from __future__ import annotations

import contextlib
import fcntl
import itertools
import json
import os
import stat
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final
from urllib.parse import quote, unquote

from toolc.model.atomic_files import replace_file
from toolc.model.errors import InfrastructureError, raise_shortage
from toolc.model.json_schema import JsonObject
from toolc.sandbox.host import janitor, start_folder, store_sweep
from toolc.sandbox.host.owner import Owner

VARIABLE: Final = "TOOLC_STORE"
"""The environment variable for another store folder."""

SYSTEM: Final = Path("/var/lib/toolc")
"""The store of root. Other users can read an artifact if they know its name."""

LOCK_SECONDS: Final = 900.0
"""How long to wait for another process, in seconds, which is longer than a build step may be silent."""

_POLL_SECONDS: Final = 0.05
"""How long to wait between attempts to get a lock, in seconds. Creating an artifact takes much longer."""

_NUMBERS: Final = itertools.count(1)


def directory() -> Path:
    """Return the store's folder, created if necessary. Raises ``InfrastructureError``."""
    named = os.environ.get(VARIABLE, "")
    data = os.environ.get("XDG_DATA_HOME", "")
    if Path(named).is_absolute():
        folder = Path(named)
    elif os.geteuid() == 0:
        # Not in root's home: images unpacked here are roots of tools that run as other users.
        folder = SYSTEM
    else:
        folder = (Path(data) if Path(data).is_absolute() else _home() / ".local/share") / "toolc"
    with _os_errors():
        folder.mkdir(mode=0o711, parents=True, exist_ok=True)
        found = folder.stat()
        if found.st_uid != os.geteuid() or folder.lstat().st_uid not in {0, os.geteuid()}:
            raise InfrastructureError(f"{folder} belongs to another user; set {VARIABLE} to a folder of this user")
        if found.st_mode & 0o022:
            # Other users may have created its content, and tools would run on it.
            raise InfrastructureError(
                f"other users can write to {folder}; check its content and run chmod 711 {folder}, or set {VARIABLE} "
                "to another folder"
            )
        if found.st_mode & 0o777 != 0o711:
            folder.chmod(0o711)
        # Resolved, as the kernel shows it: processes that work in it are found by this path.
        return folder.resolve()


def _home() -> Path:
    try:
        return Path.home()
    except RuntimeError:  # an arbitrary uid in a container
        raise InfrastructureError(f"this user has no home directory; set {VARIABLE} to a folder of this user") from None


def readable() -> tuple[Path, ...]:
    """Return the folders to search: the store, then root's store, unless the user has chosen a store."""
    own = directory()
    if os.geteuid() == 0 or os.environ.get(VARIABLE):
        return (own,)
    try:
        found = SYSTEM.lstat()
    except OSError:
        return (own,)
    is_safe = stat.S_ISDIR(found.st_mode) and found.st_uid == 0 and not found.st_mode & 0o022
    return (own, SYSTEM) if is_safe else (own,)


def find(kind: str, key: str, folder: Path | None = None) -> Path | None:
    """Return the folder that ``make`` has created for this key, or None. Raises ``InfrastructureError``.

    ``folder`` is the store to search instead.
    """
    return target if (target := _target(kind, key, folder)).is_dir() else None


def make(kind: str, key: str, fill: Callable[[Path], None]) -> Path:
    """Return the folder of this kind and key. If it does not exist, create it with ``fill``.

    ``fill`` gets an empty folder to write to. Concurrent calls wait for each other. Raises ``InfrastructureError`` and
    the errors of ``fill``, and then leaves nothing behind.
    """
    if found := find(kind, key):
        return found
    target = _target(kind, key)
    with locked(kind, key), _os_errors():
        if target.is_dir():
            return target
        with scratch() as work:
            new = work / "made"
            new.mkdir()
            fill(new)
            new.chmod(0o755)
            target.parent.mkdir(mode=0o711, exist_ok=True)
            new.rename(target)
    return target


@contextlib.contextmanager
def scratch() -> Iterator[Path]:
    """Yield a private folder that is removed at the end of the block, or after this process has died.

    Processes that work in it are killed with it. They have it as their working directory, or in a variable.
    """
    folder = directory() / "scratch"
    owner = Owner.current().label()
    with _os_errors():
        folder.mkdir(mode=0o711, exist_ok=True)
        for stale in leftovers():
            store_sweep.remove(stale)
        janitor.register("store", str(folder), owner)
        work = folder / f"{owner}-{next(_NUMBERS)}"
        work.mkdir(mode=0o700)
    try:
        yield work
    finally:
        store_sweep.remove(work)


def leftovers() -> list[Path]:
    """Return the scratch folders of owners that are known to be dead. Raises ``InfrastructureError``."""
    return [folder for owner, folder in scratch_folders() if owner.is_stale()]


def scratch_folders() -> Iterator[tuple[Owner, Path]]:
    """Yield the scratch folders of this user's processes, alive or dead. Raises ``InfrastructureError``."""
    for folder in sorted((directory() / "scratch").glob("*-*")):
        if (owner := Owner.parse(folder.name.rpartition("-")[0])) is not None:
            yield owner, folder


def read_note(kind: str, name: str, folder: Path | None = None) -> JsonObject | None:
    """Return the object that ``write_note`` stored, or None. Raises ``InfrastructureError``.

    ``folder`` is the store to search instead.
    """
    with _os_errors():
        try:
            value = json.loads(_note(kind, name, folder).read_bytes())
        except (FileNotFoundError, ValueError):
            return None
    return value if isinstance(value, dict) else None


def read_notes(kind: str, name: str) -> Iterator[JsonObject]:
    """Yield the notes of this name in all stores that are searched. Raises ``InfrastructureError``."""
    for folder in readable():
        if (note := read_note(kind, name, folder)) is not None:
            yield note


def write_note(kind: str, name: str, value: JsonObject) -> None:
    """Store a small JSON object under a name, in place of an older one. Raises ``InfrastructureError``."""
    note = _note(kind, name)
    with _os_errors(), scratch() as work:
        note.parent.mkdir(mode=0o711, exist_ok=True)
        with replace_file(note, draft=work / "note") as file:
            file.write(json.dumps(value, sort_keys=True).encode())
            os.fchmod(file.fileno(), 0o644)  # other users may run tools in root's images, whatever root's umask is


def notes(kind: str) -> Iterator[tuple[str, JsonObject]]:
    """Yield each name and object that ``write_note`` stored. Raises ``InfrastructureError``."""
    for path in sorted((directory() / kind).glob("*.json")):
        name = unquote(path.name.removesuffix(".json"))
        if (note := read_note(kind, name)) is not None:
            yield name, note


def entries(kind: str) -> Iterator[tuple[str, Path]]:
    """Yield the key and the folder of each artifact of this kind. Raises ``InfrastructureError``."""
    for folder in sorted((directory() / kind).glob("*-*")):
        yield folder.name.replace("-", ":", 1), folder


def _note(kind: str, name: str, folder: Path | None = None) -> Path:
    return (folder or directory()) / kind / f"{quote(name, safe='')}.json"


def _target(kind: str, key: str, folder: Path | None = None) -> Path:
    # The colon of a digest would separate the options of a mount.
    return (folder or directory()) / kind / key.replace(":", "-")


@contextlib.contextmanager
def locked(kind: str, key: str, on_wait: Callable[[str], None] | None = None) -> Iterator[None]:
    """Hold the lock of an artifact, against other processes and threads. The kernel releases it if the holder dies.

    If this has to wait for more than a second, ``on_wait`` is called once with the id of the holder. Raises
    ``InfrastructureError`` if another process holds the lock for ``LOCK_SECONDS``.
    """
    with _os_errors():
        folder = directory() / "locks"
        folder.mkdir(mode=0o700, exist_ok=True)
        path = folder / f"{kind}-{quote(key, safe='')}"
        descriptor = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        start = time.monotonic()
        while not _try_lock(descriptor):
            waited = time.monotonic() - start
            if on_wait is not None and waited > 1:
                on_wait(_holder(descriptor))
                on_wait = None
            if waited > LOCK_SECONDS:
                raise InfrastructureError(
                    f"another process ({_holder(descriptor)}) has held the lock of the {kind} {key} for "
                    f"{LOCK_SECONDS:.0f} seconds; wait until it ends, or end it, and try again"
                )
            time.sleep(_POLL_SECONDS)
        with _os_errors():
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, str(os.getpid()).encode(), 0)
        yield
    finally:
        os.close(descriptor)


def _holder(descriptor: int) -> str:
    return os.pread(descriptor, 20, 0).decode("ascii", "replace") or "unknown"


def _try_lock(descriptor: int) -> bool:
    with contextlib.suppress(BlockingIOError):
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    return False


@contextlib.contextmanager
def _os_errors() -> Iterator[None]:
    """Turn errors of the file system into ``InfrastructureError``."""
    try:
        yield
    except OSError as error:
        raise_shortage(error)
        raise InfrastructureError(
            f"cannot write {error.filename or 'the store'}: {error.strerror or error}; free disk space and make it "
            f"writable for this user, or set {VARIABLE} to another folder"
        ) from error


def remove(kind: str, key: str, folder: Path, is_needed: Callable[[Path], bool] = lambda _: False) -> None:
    """Remove the artifact of this kind and key, if it exists.

    ``is_needed`` is called with the folder after it was moved away. If a call uses the folder, or if it cannot be
    removed, it is moved back and ``InfrastructureError`` is raised.
    """
    with locked(kind, key), scratch() as work:
        aside = work / folder.name
        _check_unused(folder)
        try:
            folder.rename(aside)
        except FileNotFoundError:
            return
        except OSError as error:
            raise InfrastructureError(f"cannot remove {folder}: {error.strerror or error}") from error
        try:
            # A call that started in between has mounted it by now, or will fail because it does not exist.
            _check_unused(folder)
            if is_needed(aside):
                raise InfrastructureError("a call has just started to use it; try again later")
        except InfrastructureError:
            aside.rename(folder)
            raise


def _check_unused(folder: Path) -> None:
    mark = os.fsencode(f"/{folder.name}/")
    for process in Path("/proc").glob("[0-9]*/mountinfo"):
        with contextlib.suppress(OSError):  # the process has ended
            lines = process.read_bytes().splitlines()
            # proc_pid_mountinfo(5): the fourth field is the folder of its file system that a mount shows.
            if any(mark in line.split(b" ")[3] + b"/" for line in lines):
                raise InfrastructureError(f"a call of process {process.parent.name} uses it; try again later")
    if start_folder.is_linked(folder):
        raise InfrastructureError("a call uses it; try again later")
