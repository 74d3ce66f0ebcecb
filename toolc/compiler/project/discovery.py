"""Find spec files, and the project file that applies to each spec.

A project file applies to the specs in its folder and below, up to the next project file, within one Git repository.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from toolc.compiler.project.files import ACCEPTED, PROJECT_FILES, is_shared, project_state, walk
from toolc.compiler.project.project import NO_PROJECT, Project, decode_project, decode_project_policy
from toolc.compiler.project.variables import ProjectVariables
from toolc.compiler.project.work_limits import time_limit, unfinished_work
from toolc.dataclass import dataclass, field, replace
from toolc.document.loader import load_project
from toolc.document.map_reader import Findings
from toolc.model import codes
from toolc.model.diagnostics import Diagnostics, step_budget
from toolc.model.errors import UsageError
from toolc.model.source import SourceText

if TYPE_CHECKING:
    from toolc.compiler.project.baseline import Baseline
    from toolc.model.spec.policy import Policy


@dataclass(frozen=True, slots=True, kw_only=True)
class SpecFile:
    """A file that may contain specs.

    ``path`` is its location, and ``real`` the same without symlinks. ``display_path`` is its path in findings, with
    ``/`` as the separator. ``folder`` is the named folder that contains it, or None if the user named the file itself.
    """

    path: Path
    display_path: str
    folder: Path | None
    real: str = field(default="", compare=False)


def find(paths: Sequence[Path]) -> tuple[SpecFile, ...]:
    """Return the files named by ``paths`` and those in named folders, without duplicates, sorted by ``display_path``.

    A file that is named explicitly may have any name. In a folder, these are skipped: names that start with a dot,
    ``__pycache__``, symlinks, project files, accepted changes, and other suffixes. Raises ``UsageError`` for a path
    that does not exist or cannot be searched.
    """
    by_path: dict[str, SpecFile] = {}
    for each in sorted((each for path in paths for each in _under(path)), key=_named_first):
        by_path.setdefault(each.real, each)
    not_specs = {*PROJECT_FILES, ACCEPTED}
    specs = (each for each in by_path.values() if each.folder is None or each.path.name not in not_specs)
    return tuple(sorted(specs, key=lambda each: each.display_path))


@dataclass(slots=True)
class Projects:
    """The projects of one compilation. Each is read once, and its problems are added to ``diagnostics``.

    ``sources`` are the texts of the project files that parsed. ``searched`` maps each folder in which a project file
    was searched for to its ``project_state``. ``reads_other_specs`` is true if specs that are not compiled were
    searched for the names of tools. ``baseline`` has stricter settings, if any.
    """

    diagnostics: Diagnostics
    baseline: Baseline | None = None
    sources: list[SourceText] = field(default_factory=list)
    searched: dict[Path, str] = field(default_factory=dict)
    reads_other_specs: bool = False
    _by_folder: dict[Path, Project] = field(default_factory=dict)
    _by_path: dict[Path, Project] = field(default_factory=dict)
    _of_files: dict[str, Project] = field(default_factory=dict)
    _policies: dict[Path, tuple[Policy, ...]] = field(default_factory=dict)

    def of(self, path: Path) -> Project:
        """Return the project of the file or folder at ``path``, or ``NO_PROJECT``."""
        if path not in self._by_path:
            place = Path(os.path.abspath(path))  # noqa: PTH100  resolve() would follow a link out of the project
            folder = place if place.is_dir() else place.parent
            project = self._of_folder(folder)
            self._by_path[path] = self.baseline.applied_to(project, folder) if self.baseline else project
        return self._by_path[path]

    def of_file(self, path: Path) -> Project:
        """Return the project of a file. Each folder is searched once, regardless of the number of its files."""
        if path not in self._by_path:
            folder = os.path.dirname(path)  # noqa: PTH120  a Path for each of thousands of files takes long
            if folder not in self._of_files:
                self._of_files[folder] = self.of(Path(folder))
            self._by_path[path] = self._of_files[folder]
        return self._by_path[path]

    @property
    def loaded(self) -> tuple[Project, ...]:
        """Every project with a file that was looked up so far, sorted by folder, without the baseline."""
        projects = {project.folder: project for project in self._by_folder.values() if project is not NO_PROJECT}
        return tuple(projects[folder] for folder in sorted(projects))

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
        """Return the project files in ``folder``.

        Symlinks are ignored because their target is not reviewed. Files in a folder that every user may write to
        are ignored because any user may have created them. Both are reported.
        """
        self.searched[folder] = project_state(folder)
        paths = [folder / name for name in PROJECT_FILES]
        has_no_effect = is_shared(folder)
        for path in paths:
            if has_no_effect and path.exists():
                hint = "keep the project file and its specs in a folder that only you can write to"
                self._has_no_effect(path, "it is in a folder that every user may write to", hint)
            elif path.is_symlink():
                self._has_no_effect(path, "it is a link", "put the file itself here")
        return [path for path in paths if path.is_file() and not path.is_symlink() and not has_no_effect]

    def _has_no_effect(self, path: Path, why: str, hint: str) -> None:
        text = SourceText(_display_path(path), "")
        self.diagnostics.add(codes.PROJECT_FILE, f"{text.path} has no effect: {why}", text.whole_file(), hint)

    def _read(self, folder: Path, present: list[Path]) -> Project:
        first, *others = present
        for other in others:
            self._has_no_effect(other, f"{first.name} next to it is the project file", "keep one of the two")
        with time_limit(_display_path(first)), step_budget() as budget:
            document = load_project(first, _display_path(first), self.diagnostics)
            if document is None:
                return Project(folder=folder, vars=ProjectVariables(are_known=False))
            self.sources.append(document.source)
            project = decode_project(document, folder, Findings(document.source, self.diagnostics))
        if budget.unfinished:
            self.diagnostics.append(unfinished_work(budget, document.source.whole_file()))
        return replace(project, policies=(*project.policies, *self._policies_above(folder)))

    def _policies_above(self, folder: Path) -> tuple[Policy, ...]:
        """Return the policies of project files further up in the repository. Their other settings do not apply."""
        if folder == folder.parent or (folder / ".git").exists():
            return ()
        above = folder.parent
        if above not in self._policies:
            own = tuple(self._policy(path) for path in self._present(above)[:1])
            self._policies[above] = (*(each for each in own if each), *self._policies_above(above))
        return self._policies[above]

    def _policy(self, path: Path) -> Policy | None:
        """Return the policy of one file. Errors in the policy are also reported for the specs below it."""
        diagnostics = Diagnostics()
        document = load_project(path, _display_path(path), diagnostics)
        entry = document.root.entry("policy") if document else None
        policy = None
        if document and entry:
            self.sources.append(document.source)
            policy = decode_project_policy(entry.value, "'policy'", Findings(document.source, diagnostics))
        self.diagnostics.extend(diagnostics.map(lambda each: each if each.is_error else None))
        return policy


def _named_first(file: SpecFile) -> tuple[bool, str]:
    return file.folder is not None, file.display_path


def _under(path: Path) -> Iterator[SpecFile]:
    try:
        if path.is_dir():
            top = str(path)
            real = os.path.realpath(top)
            for name in walk(top):
                each = Path(name)
                # walk() follows no symlinks, so the real path is known without a system call for each file.
                yield SpecFile(path=each, display_path=each.as_posix(), folder=path, real=real + name[len(top) :])
        elif path.exists() and not path.is_file():
            # Reading a pipe may never finish, and its contents can be read only once.
            raise UsageError(f"{path}: neither a file nor a folder; write the spec to a file, and name that")
        elif path.exists():
            yield SpecFile(path=path, display_path=path.as_posix(), folder=None, real=os.path.realpath(path))
        else:
            raise UsageError(f"{path}: no such file or folder; name a spec file or a folder of specs")
    except OSError as error:
        raise UsageError(f"{error.filename or path}: cannot be searched: {(error.strerror or '').lower()}") from error


def _display_path(path: Path) -> str:
    return Path(os.path.relpath(path)).as_posix()
