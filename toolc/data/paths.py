"""Find folders of data that ship with toolc. They are inside the package in a wheel, and next to it in a checkout."""

from __future__ import annotations

from pathlib import Path

from toolc.model.errors import UsageError


def packaged_path(name: str) -> Path:
    """Return the path of the packaged folder ``name``, such as ``specs``. Raises ``UsageError`` if it is missing."""
    package = Path(__file__).resolve().parents[1]
    for folder in (package / "_assets" / name, package.parent / name):
        if folder.is_dir():
            return folder
    raise UsageError(f"this installation of toolc has no folder {name!r}; install toolc again")
