"""Packages that were installed for Python tools, in the store: which there are, and which nobody uses any more."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from toolc.engines import store, store_removal

KIND: Final = "site"
"""The store's word for a folder of packages."""

UNUSED_DAYS: Final = 30
"""After so many days without a call a folder is unused: which specs are elsewhere, nobody can say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Packages:
    """One folder of packages: their names and versions, and when a call last used it, in seconds since 1970."""

    key: str
    names: tuple[str, ...]
    folder: Path
    last_used: float

    @property
    def is_unused(self) -> bool:
        """Whether no call has used it for ``UNUSED_DAYS``."""
        return _is_old(self.last_used)


def make(key: str, fill: Callable[[Path], None]) -> Path:
    """The folder under this key, used now; ``fill`` makes what is not there. Raises ``InfrastructureError``."""
    while True:
        folder = store.make(KIND, key, fill)
        try:
            os.utime(folder)
        except FileNotFoundError:
            continue  # it was removed in between
        return folder


def installed() -> tuple[Packages, ...]:
    """All that are in the store, by name. Raises ``InfrastructureError``."""
    found = []
    for folder in (store.place() / KIND).glob("*"):
        with contextlib.suppress(FileNotFoundError):
            used = folder.stat().st_mtime
            found.append(Packages(key=folder.name, names=_names(folder), folder=folder, last_used=used))
    return tuple(sorted(found, key=lambda each: (each.names, each.key)))


def remove(packages: Packages) -> None:
    """Remove an unused folder. Raises ``InfrastructureError`` where a call uses it, or it cannot be removed."""
    store_removal.remove(
        KIND, packages.key, packages.folder, is_wanted=lambda folder: not _is_old(folder.stat().st_mtime)
    )


def _is_old(last_used: float) -> bool:
    return time.time() - last_used > UNUSED_DAYS * 24 * 3600


def _names(folder: Path) -> tuple[str, ...]:
    """``name-version`` of each, by the folder with its metadata (Binary distribution format, PEP 427)."""
    return tuple(sorted(each.name.removesuffix(".dist-info") for each in folder.glob("*.dist-info")))
