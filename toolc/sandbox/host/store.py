"""The per-user store on disk for reusable artifacts: unpacked images, packages, the portable Python.

Each artifact is created in a scratch folder, under a lock, and then renamed, so it is never visible incomplete. Its
name identifies its content, so it never changes. The janitor of a killed process, or the next process that creates
something, removes what was incomplete.
"""

from __future__ import annotations

import contextlib
import fcntl
import itertools
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final
from urllib.parse import quote, unquote

from toolc.model.errors import InfrastructureError
from toolc.model.json_schema import JsonObject
from toolc.sandbox.host import janitor, store_sweep
from toolc.sandbox.host.owner import Owner

__all__ = ["scratch_folders"]

VARIABLE: Final = "TOOLC_STORE"
"""The environment variable for another store folder."""

LOCK_SECONDS: Final = 900.0
"""How long to wait while another process creates an artifact, in seconds: longer than a silent build step may
take."""

_LOOK_SECONDS: Final = 0.05

_NUMBERS: Final = itertools.count(1)


def place() -> Path:
    """Return the store's folder, created if necessary. Raises ``InfrastructureError``."""
    named = os.environ.get(VARIABLE, "")
    data = os.environ.get("XDG_DATA_HOME", "")
    if Path(named).is_absolute():
        folder = Path(named)
    elif os.geteuid() == 0:
        # Not in root's home: images unpacked here are roots of tools that run as other users.
        folder = Path("/var/lib/toolc")
    else:
        folder = (Path(data) if Path(data).is_absolute() else Path.home() / ".local/share") / "toolc"
    with _explained():
        folder.mkdir(mode=0o711, parents=True, exist_ok=True)
        found = folder.stat()
        if found.st_uid != os.geteuid() or folder.lstat().st_uid not in {0, os.geteuid()}:
            raise InfrastructureError(f"{folder} belongs to another user; set {VARIABLE} to a folder of your own")
        if found.st_mode & 0o022:
            # Other users may have created its content, and tools would run on it.
            raise InfrastructureError(
                f"other users may write in {folder}; look at what is in it, and chmod 711 it, or set {VARIABLE} to "
                "a folder of your own"
            )
        if found.st_mode & 0o777 != 0o711:
            folder.chmod(0o711)
        # Resolved, as the kernel shows it: processes that work in it are found by this path.
        return folder.resolve()


def find(kind: str, key: str) -> Path | None:
    """Return the folder that ``make`` has created for this key; None if it has not. Raises
    ``InfrastructureError``."""
    target = _target(kind, key)
    return target if target.is_dir() else None


def make(kind: str, key: str, fill: Callable[[Path], None]) -> Path:
    """Return the folder of this kind and key; create it with ``fill`` if it does not exist.

    ``fill`` gets an empty folder to write to. Concurrent calls wait for each other. Raises ``InfrastructureError``,
    and what ``fill`` raises; then nothing is left.
    """
    if found := find(kind, key):
        return found
    target = _target(kind, key)
    with locked(kind, key), _explained():
        if target.is_dir():
            return target
        with scratch() as work:
            made = work / "made"
            made.mkdir()
            fill(made)
            made.chmod(0o755)
            target.parent.mkdir(mode=0o711, exist_ok=True)
            made.rename(target)
    return target


@contextmanager
def scratch() -> Iterator[Path]:
    """Yield a private folder that is removed at the end of the block, or after this process has died.

    Processes that work in it (by their working directory, or a variable that names it) are killed with it.
    """
    folder = place() / "scratch"
    owner = Owner.current().label()
    with _explained():
        folder.mkdir(mode=0o711, exist_ok=True)
        for left in leftovers():
            store_sweep.remove(left)
        script = store_sweep.__file__
        janitor.register([sys.executable, "-I", "-S", script, str(folder), owner])
        work = folder / f"{owner}-{next(_NUMBERS)}"
        work.mkdir(mode=0o700)
    try:
        yield work
    finally:
        store_sweep.remove(work)


def leftovers() -> list[Path]:
    """Return the scratch folders of owners that are known to be dead. Raises ``InfrastructureError``."""
    return [left for owner, left in scratch_folders() if owner.is_stale()]


def scratch_folders() -> Iterator[tuple[Owner, Path]]:
    """Yield the scratch folders of processes of this user, alive or dead. Raises ``InfrastructureError``."""
    for left in sorted((place() / "scratch").glob("*-*")):
        owner = Owner.parse(left.name.rpartition("-")[0])
        if owner is not None:
            yield owner, left


def read_note(kind: str, name: str) -> JsonObject | None:
    """Return what ``write_note`` wrote; None if it has not. Raises ``InfrastructureError``."""
    with _explained():
        try:
            value = json.loads((place() / kind / f"{quote(name, safe='')}.json").read_bytes())
        except (FileNotFoundError, ValueError):
            return None
    return value if isinstance(value, dict) else None


def write_note(kind: str, name: str, value: JsonObject) -> None:
    """Write a small JSON object under a name; replace an older one. Raises ``InfrastructureError``."""
    folder = place() / kind
    with _explained(), scratch() as work:
        folder.mkdir(mode=0o711, exist_ok=True)
        draft = work / "note"
        draft.write_text(json.dumps(value, sort_keys=True), encoding="utf-8")
        draft.rename(folder / f"{quote(name, safe='')}.json")


def notes(kind: str) -> Iterator[tuple[str, JsonObject]]:
    """Yield all that ``write_note`` has written, by name. Raises ``InfrastructureError``."""
    for path in sorted((place() / kind).glob("*.json")):
        name = unquote(path.name.removesuffix(".json"))
        if (note := read_note(kind, name)) is not None:
            yield name, note


def made(kind: str) -> Iterator[tuple[str, Path]]:
    """Yield all that ``make`` has created of this kind, each with its key. Raises ``InfrastructureError``."""
    for folder in sorted((place() / kind).glob("*-*")):
        yield folder.name.replace("-", ":", 1), folder


def forget_note(kind: str, name: str) -> None:
    """Remove what ``write_note`` wrote, if it exists. Raises ``InfrastructureError``."""
    with _explained():
        (place() / kind / f"{quote(name, safe='')}.json").unlink(missing_ok=True)


def _target(kind: str, key: str) -> Path:
    # The colon of a digest would separate the options of a mount.
    return place() / kind / key.replace(":", "-")


@contextmanager
def locked(kind: str, key: str) -> Iterator[None]:
    """Hold the lock of this name, against other threads too; the kernel releases it if the holder dies.

    Raises ``InfrastructureError`` if another process holds it for ``LOCK_SECONDS``.
    """
    with _explained():
        folder = place() / "locks"
        folder.mkdir(mode=0o700, exist_ok=True)
        path = folder / f"{kind}-{quote(key, safe='')}"
        descriptor = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        deadline = time.monotonic() + LOCK_SECONDS
        while not _locks(descriptor):
            if time.monotonic() > deadline:
                holder = os.pread(descriptor, 20, 0).decode("ascii", "replace") or "unknown"
                raise InfrastructureError(
                    f"another process ({holder}) has been at the {kind} {key} for {LOCK_SECONDS:.0f} s; wait for "
                    "it, or end it, and try again"
                )
            time.sleep(_LOOK_SECONDS)
        with _explained():
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, str(os.getpid()).encode(), 0)
        yield
    finally:
        os.close(descriptor)


def _locks(descriptor: int) -> bool:
    with contextlib.suppress(BlockingIOError):
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    return False


@contextmanager
def _explained() -> Iterator[None]:
    """Turn errors of the file system into ``InfrastructureError``."""
    with contextlib.ExitStack():
        try:
            yield
        except OSError as error:
            where = error.filename or "the store"
            raise InfrastructureError(
                f"cannot write {where}: {error.strerror or error}; make room and let this user write there, "
                f"or set {VARIABLE} to another folder"
            ) from error


def remove(kind: str, key: str, folder: Path, is_wanted: Callable[[Path], bool] = lambda _: False) -> None:
    """Remove what ``store.make`` has created under this name, if it exists.

    ``is_wanted`` is called with the folder after it was moved away. Raises ``InfrastructureError`` if a call uses
    the folder, or it cannot be removed; then it is in its old place.
    """
    with locked(kind, key), scratch() as work:
        aside = work / folder.name
        _refuse_used(folder)
        try:
            folder.rename(aside)
        except FileNotFoundError:
            return
        except OSError as error:
            raise InfrastructureError(f"cannot remove {folder}: {error.strerror or error}") from error
        try:
            # A call that began in between has mounted it by now, or will fail because it does not exist.
            _refuse_used(folder)
            if is_wanted(aside):
                raise InfrastructureError("a call has just begun to use it")
        except InfrastructureError:
            aside.rename(folder)
            raise


def _refuse_used(folder: Path) -> None:
    mark = os.fsencode(f"/{folder.name}/")
    for process in Path("/proc").glob("[0-9]*/mountinfo"):
        try:
            lines = process.read_bytes().splitlines()
        except OSError:
            continue  # the process has ended
        # proc_pid_mountinfo(5): the fourth field is the folder of its file system that a mount shows.
        if any(mark in line.split(b" ")[3] + b"/" for line in lines):
            raise InfrastructureError(f"a call of process {process.parent.name} runs in it; try again later")
