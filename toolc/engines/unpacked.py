"""Images that are unpacked in the store, by digest: which names mean them, and those that none means any more."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from toolc.engines import store
from toolc.errors import InfrastructureError

KIND: Final = "rootfs"
NAMES: Final = "images"
"""The store's words for unpacked images, and for what names mean."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """One unpacked image: its digest, the names that mean it, and its folder."""

    digest: str
    names: tuple[str, ...]
    folder: Path

    @property
    def is_stale(self) -> bool:
        """Whether no name means it: it was unpacked anew since, under another digest."""
        return not self.names

    def size_bytes(self) -> int:
        """What its files take, each counted once."""
        seen: dict[int, int] = {}
        for folder, _, files in os.walk(self.folder):
            for name in files:
                status = os.lstat(os.path.join(folder, name))  # noqa: PTH118  a tenth of the time, for many files
                seen[status.st_ino] = status.st_size
        return sum(seen.values())


def stored() -> tuple[Stored, ...]:
    """All that is unpacked, what has a name first. Raises ``InfrastructureError``."""
    meanings: dict[str, list[str]] = {}
    for name, note in store.notes(NAMES):
        meanings.setdefault(str(note.get("digest")), []).append(name)
    found = [
        Stored(digest=digest, names=tuple(sorted(meanings.get(digest, ()))), folder=folder)
        for digest, folder in store.made(KIND)
    ]
    return tuple(sorted(found, key=lambda each: (each.is_stale, each.names, each.digest)))


def remove(image: Stored) -> None:
    """Remove a stale image. Raises ``InfrastructureError`` where a call uses it, or it cannot be removed."""
    with store.locked(KIND, image.digest), store.scratch() as work:
        aside = work / image.folder.name
        _refuse_used(image)
        try:
            image.folder.rename(aside)
        except FileNotFoundError:
            return
        except OSError as error:
            raise InfrastructureError(f"cannot remove {image.folder}: {error.strerror or error}") from error
        try:
            # Who began meanwhile has mounted it by now, or will be told that it is gone.
            _refuse_used(image)
        except InfrastructureError:
            aside.rename(image.folder)
            raise


def _refuse_used(image: Stored) -> None:
    mark = os.fsencode(f"/{image.folder.name}/")
    for process in Path("/proc").glob("[0-9]*/mountinfo"):
        try:
            lines = process.read_bytes().splitlines()
        except OSError:
            continue  # it has ended
        # proc_pid_mountinfo(5): the fourth field is the folder of its file system that a mount shows.
        if any(mark in line.split(b" ")[3] for line in lines):
            raise InfrastructureError(f"a call of process {process.parent.name} runs in it; try again later")
