"""Images that are unpacked in the store, by digest: which names mean them, and those that none means any more."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from toolc.engines import store, store_removal

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
    store_removal.remove(KIND, image.digest, image.folder)
