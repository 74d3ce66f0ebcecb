"""Which project file holds for a spec: the nearest one upwards, within the Git repository."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from toolc.compiler.project.project import NO_PROJECT, Project, decode_project
from toolc.compiler.project.variables import ProjectVariables
from toolc.document.loader import load_project
from toolc.document.map_reader import Findings
from toolc.model import codes
from toolc.model.diagnostics import Diagnostics
from toolc.model.errors import UsageError
from toolc.model.source import SourceText

if TYPE_CHECKING:
    from toolc.policy.policy import Policy

__all__ = [
    "PROJECT_FILES",
    "SUFFIXES",
    "SpecFile",
    "walk",
]


SUFFIXES: Final = (".yaml", ".yml", ".toml")
"""The suffixes of files that a folder is searched for, in small letters."""

PROJECT_FILES: Final = ("toolc.yaml", "toolc.toml")
"""The names of the project file: it holds settings, not tools."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpecFile:
    """A file that may hold specs.

    ``path`` is where it is; ``shown`` is how findings name it, with ``/`` between its parts. ``folder``
    is the folder the user named in which it was found, None where the user named the file itself. ``real``
    is where its links lead.
    """

    path: Path
    shown: str
    folder: Path | None
    real: str = field(default="", compare=False)


def find(paths: Sequence[Path]) -> tuple[SpecFile, ...]:
    """The files named by ``paths`` and those in the folders among them, each once, sorted by ``shown``.

    A file that is named is taken whatever its name. In a folder, folders and files whose name starts
    with a dot, ``__pycache__``, symlinks, project files and other suffixes are passed over. Raises
    ``UsageError`` for a path that does not exist or cannot be searched.
    """
    found: dict[str, SpecFile] = {}
    for each in sorted((each for path in paths for each in _under(path)), key=_named_first):
        found.setdefault(each.real, each)
    specs = (each for each in found.values() if each.folder is None or each.path.name not in PROJECT_FILES)
    return tuple(sorted(specs, key=lambda each: each.shown))


def _named_first(found: SpecFile) -> tuple[bool, str]:
    return found.folder is not None, found.shown


def _under(path: Path) -> Iterator[SpecFile]:
    try:
        if path.is_dir():
            top = str(path)
            real = os.path.realpath(top)
            for name in walk(top):
                each = Path(name)
                # No link was followed on the way here, and asking the system for each file takes long.
                yield SpecFile(path=each, shown=each.as_posix(), folder=path, real=real + name[len(top) :])
        elif path.exists() and not path.is_file():
            # A pipe may never end, and what it holds can be read only once.
            raise UsageError(f"{path}: neither a file nor a folder; write the spec to a file, and name that")
        elif path.exists():
            yield SpecFile(path=path, shown=path.as_posix(), folder=None, real=os.path.realpath(path))
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


@dataclass(slots=True)
class Projects:
    """The projects of one compilation, each read once; what is wrong with them is in ``diagnostics``.

    ``sources`` are the texts of the project files that parsed. ``below`` has the folders of those below which all
    files were looked through, and a digest of these.
    """

    diagnostics: Diagnostics
    sources: list[SourceText] = field(default_factory=list)
    below: dict[Path, str] = field(default_factory=dict)
    _by_folder: dict[Path, Project] = field(default_factory=dict)
    _by_path: dict[Path, Project] = field(default_factory=dict)
    _of_files: dict[str, Project] = field(default_factory=dict)
    _policies: dict[Path, tuple[Policy, ...]] = field(default_factory=dict)

    def of(self, path: Path) -> Project:
        """The project that the file or folder at ``path`` belongs to; ``NO_PROJECT`` where there is none."""
        if path not in self._by_path:
            place = Path(os.path.abspath(path))  # noqa: PTH100  resolve() would follow a link out of the project
            self._by_path[path] = self._of_folder(place if place.is_dir() else place.parent)
        return self._by_path[path]

    def of_file(self, path: Path) -> Project:
        """``of`` for what is no folder: each folder is asked about once, whatever the number of its files."""
        if path not in self._by_path:
            folder = os.path.dirname(path)  # noqa: PTH120  a Path for each of thousands of files takes long
            if folder not in self._of_files:
                self._of_files[folder] = self.of(Path(folder))
            self._by_path[path] = self._of_files[folder]
        return self._by_path[path]

    @property
    def found(self) -> tuple[Project, ...]:
        """Every project asked for so far that has a file, by its folder."""
        projects = {project.folder: project for project in self._by_folder.values() if project is not NO_PROJECT}
        return tuple(projects[folder] for folder in sorted(projects))

    @property
    def looked_for(self) -> tuple[Path, ...]:
        """Every folder in which a project file was looked for so far, sorted."""
        return tuple(sorted({*self._by_folder, *self._policies}))

    def _of_folder(self, folder: Path) -> Project:
        if folder not in self._by_folder:
            present = self._present(folder)
            if present:
                self._by_folder[folder] = self._read(folder, present)
            elif folder == folder.parent or (folder / ".git").exists():
                self._by_folder[folder] = NO_PROJECT
            else:
                self._by_folder[folder] = self._of_folder(folder.parent)
        return self._by_folder[folder]

    def _present(self, folder: Path) -> list[Path]:
        """The folder's project files. A link is none, since nobody reviews where it leads, nor is anybody's file.

        Both are reported.
        """
        paths = [folder / name for name in PROJECT_FILES]
        is_shared = _is_shared(folder)
        for path in paths:
            if is_shared and path.exists():
                hint = "keep the project file and its specs in a folder of your own"
                self._has_no_effect(path, "it is in a folder that everybody may write to", hint)
            elif path.is_symlink():
                self._has_no_effect(path, "it is a link", "put the file itself here")
        return [path for path in paths if path.is_file() and not path.is_symlink() and not is_shared]

    def _has_no_effect(self, path: Path, why: str, hint: str) -> None:
        text = SourceText(_shown(path), "")
        self.diagnostics.add(codes.PROJECT_FILE, f"{text.path} has no effect: {why}", text.whole_file(), hint)

    def _read(self, folder: Path, present: list[Path]) -> Project:
        first, *others = present
        for other in others:
            self._has_no_effect(other, f"{first.name} beside it is the project file", "keep one of the two")
        document = load_project(first, _shown(first), self.diagnostics)
        if document is None:
            return Project(folder=folder, vars=ProjectVariables(are_known=False))
        self.sources.append(document.source)
        project = decode_project(document, folder, Findings(document.source, self.diagnostics))
        return replace(project, policies=(*project.policies, *self._policies_above(folder)))

    def _policies_above(self, folder: Path) -> tuple[Policy, ...]:
        """Those of the project files further up in the repository, whose other settings do not hold here."""
        if folder == folder.parent or (folder / ".git").exists():
            return ()
        above = folder.parent
        if above not in self._policies:
            own = tuple(self._policy(path) for path in self._present(above)[:1])
            self._policies[above] = (*(each for each in own if each), *self._policies_above(above))
        return self._policies[above]

    def _policy(self, path: Path) -> Policy | None:
        """The policy of one file. What is wrong with it, or keeps it from being read, is an error here too."""
        found = Diagnostics()
        document = load_project(path, _shown(path), found)
        entry = document.root.entry("policy") if document else None
        policy = None
        if document and entry:
            self.sources.append(document.source)
            from toolc.compiler.project.policy import decode_policy  # as above

            policy = decode_policy(entry.value, "'policy'", Findings(document.source, found))
        self.diagnostics.extend(found.map(lambda each: each if each.is_error else None))
        return policy


def _shown(path: Path) -> str:
    return Path(os.path.relpath(path)).as_posix()


def _is_shared(folder: Path) -> bool:
    """Whether a folder is everybody's, as /tmp is: what lies there is nobody's project file.

    Without the sticky bit a folder that all may write to protects nothing in it, the specs no more than the
    project file; and on some file systems (WSL's of Windows drives) every folder is one.
    """
    shared = stat.S_IWOTH | stat.S_ISVTX
    return folder.stat().st_mode & shared == shared
