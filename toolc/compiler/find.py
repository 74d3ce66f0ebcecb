"""Which files are specs: those the user names, and YAML and TOML files in the folders they name."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from toolc.model.errors import UsageError

SUFFIXES: Final = (".yaml", ".yml", ".toml")
"""The suffixes of files that a folder is searched for, in small letters."""

PROJECT_FILES: Final = ("toolc.yaml", "toolc.toml")
"""The names of the project file: it holds settings, not tools."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A file that may hold specs.

    ``path`` is where it is; ``shown`` is how findings name it, with ``/`` between its parts. ``folder``
    is the folder the user named in which it was found, None where the user named the file itself. ``real``
    is where its links lead.
    """

    path: Path
    shown: str
    folder: Path | None
    real: str = field(default="", compare=False)


def find(paths: Sequence[Path]) -> tuple[Found, ...]:
    """The files named by ``paths`` and those in the folders among them, each once, sorted by ``shown``.

    A file that is named is taken whatever its name. In a folder, folders and files whose name starts
    with a dot, ``__pycache__``, symlinks, project files and other suffixes are passed over. Raises
    ``UsageError`` for a path that does not exist or cannot be searched.
    """
    found: dict[str, Found] = {}
    for each in sorted((each for path in paths for each in _under(path)), key=_named_first):
        found.setdefault(each.real, each)
    specs = (each for each in found.values() if each.folder is None or each.path.name not in PROJECT_FILES)
    return tuple(sorted(specs, key=lambda each: each.shown))


def _named_first(found: Found) -> tuple[bool, str]:
    return found.folder is not None, found.shown


def _under(path: Path) -> Iterator[Found]:
    try:
        if path.is_dir():
            top = str(path)
            real = os.path.realpath(top)
            for name in walk(top):
                each = Path(name)
                # No link was followed on the way here, and asking the system for each file takes long.
                yield Found(path=each, shown=each.as_posix(), folder=path, real=real + name[len(top) :])
        elif path.exists() and not path.is_file():
            # A pipe may never end, and what it holds can be read only once.
            raise UsageError(f"{path}: neither a file nor a folder; write the spec to a file, and name that")
        elif path.exists():
            yield Found(path=path, shown=path.as_posix(), folder=None, real=os.path.realpath(path))
        else:
            raise UsageError(f"{path}: no such file or folder; name a spec file or a folder of specs")
    except OSError as error:
        raise UsageError(
            f"{error.filename or path}: cannot be searched: {(error.strerror or '').lower()}"
        ) from error


def walk(folder: str) -> Iterator[str]:
    """The paths in ``folder`` that ``find`` does not pass over, project files among them. Raises ``OSError``."""
    with os.scandir(folder) as entries:
        ordered = sorted(entries, key=lambda entry: entry.name)
    for entry in ordered:
        if entry.name.startswith(".") or entry.is_symlink():
            continue
        if entry.is_dir():
            if entry.name != "__pycache__":
                yield from walk(entry.path)
        elif entry.is_file() and entry.name.lower().endswith(SUFFIXES):
            yield entry.path
