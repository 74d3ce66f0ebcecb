"""Which files are specs: those the user names, and YAML and TOML files in the folders they name."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from toolc.compiler import codes
from toolc.compiler.load import load
from toolc.diagnostics import Diagnostics
from toolc.errors import UsageError
from toolc.source import SourceText

SUFFIXES: Final = (".yaml", ".yml", ".toml")
"""The suffixes of files that a folder is searched for, in small letters."""

PROJECT_FILES: Final = ("toolc.yaml", "toolc.toml")
"""The names of the project file: it holds settings, not tools."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A file that may hold specs.

    ``path`` is where it is; ``shown`` is how findings name it, with ``/`` between its parts. ``folder``
    is the folder the user named in which it was found, None where the user named the file itself.
    """

    path: Path
    shown: str
    folder: Path | None


def find(paths: Sequence[Path], diagnostics: Diagnostics) -> tuple[Found, ...]:
    """The files named by ``paths`` and those in the folders among them, each once, sorted by ``shown``.

    A file that is named is taken whatever its name. In a folder, folders and files whose name starts
    with a dot, ``__pycache__``, symlinks, project files and other suffixes are passed over. A project
    file gets a warning for what it says and nobody reads yet. Raises ``UsageError`` for a path that does
    not exist or cannot be searched.
    """
    found: dict[Path, Found] = {}
    for each in sorted((each for path in paths for each in _under(path)), key=_named_first):
        found.setdefault(each.path.resolve(), each)
    inside = {path: each for path, each in found.items() if each.folder and each.path.name in PROJECT_FILES}
    above = {each.path.resolve(): each for path in paths for each in _project_files_above(path)}
    for project in (above | inside).values():
        _report_project_file(project, diagnostics)
    specs = (each for path, each in found.items() if path not in inside)
    return tuple(sorted(specs, key=lambda each: each.shown))


def _named_first(found: Found) -> tuple[bool, str]:
    return found.folder is not None, found.shown


def _under(path: Path) -> Iterator[Found]:
    try:
        if path.is_dir():
            yield from (Found(path=each, shown=each.as_posix(), folder=path) for each in _walk(path))
        elif path.exists():
            yield Found(path=path, shown=path.as_posix(), folder=None)
        else:
            raise UsageError(f"{path}: no such file or folder; name a spec file or a folder of specs")
    except OSError as error:
        raise UsageError(
            f"{error.filename or path}: cannot be searched: {(error.strerror or '').lower()}"
        ) from error


def _walk(folder: Path) -> Iterator[Path]:
    with os.scandir(folder) as entries:
        ordered = sorted(entries, key=lambda entry: entry.name)
    for entry in ordered:
        if entry.name.startswith(".") or entry.is_symlink():
            continue
        if entry.is_dir():
            if entry.name != "__pycache__":
                yield from _walk(folder / entry.name)
        elif entry.is_file() and entry.name.lower().endswith(SUFFIXES):
            yield folder / entry.name


def _project_files_above(path: Path) -> Iterator[Found]:
    """The nearest folder's project files upwards from ``path``, not past the root of its Git repository."""
    upwards = [path.resolve(), *path.resolve().parents]
    root = next((index for index, folder in enumerate(upwards) if (folder / ".git").exists()), -1)
    for folder in upwards[: root + 1]:
        present = [folder / name for name in PROJECT_FILES if (folder / name).is_file()]
        for each in present:
            yield Found(path=each, shown=Path(os.path.relpath(each)).as_posix(), folder=folder)
        if present:
            return


def _report_project_file(project: Found, diagnostics: Diagnostics) -> None:
    """Say what of a project file has no effect: nothing that somebody wrote is ignored in silence."""
    unheard = Diagnostics()
    document = load(project.path, project.shown, unheard)
    if document is None and unheard.has_errors:
        text = SourceText(project.shown, "")
        what = f"{project.shown} has no effect: it cannot be read, and this version of toolc does not read it yet"
        diagnostics.add(codes.PROJECT_FILE, what, text.whole_file())
    if document is None:
        return
    diagnostics.add_source(document.source)
    for entry in document.root.entries:
        what = f"'{entry.key}' in a project file has no effect: this version of toolc does not read it yet"
        hint = (
            f"{project.path.name} is the project file's name; a spec needs another" if entry.key == "toolc" else ""
        )
        diagnostics.add(codes.PROJECT_FILE, what, entry.key_span, hint)
