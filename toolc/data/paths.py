"""Folders that travel with toolc and are no code: package data in a wheel, beside the package in a checkout."""

from __future__ import annotations

from pathlib import Path

from toolc.model.errors import UsageError

__all__ = [
    "packaged_path",
]


def packaged_path(name: str) -> Path:
    """The folder ``name``, as ``specs``, by its path in a checkout. Raises ``UsageError`` where it is missing."""
    package = Path(__file__).resolve().parents[1]
    for folder in (package / "_assets" / name, package.parent / name):
        if folder.is_dir():
            return folder
    raise UsageError(f"this installation of toolc has no folder {name!r}; install toolc again")
