"""Load the two states of a review: a commit, a folder, a registry file or the working tree."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Final

from toolc.compiler.located_tool import LocatedTool
from toolc.compiler.pipeline.processes import compile_many
from toolc.compiler.project.baseline import Baseline
from toolc.compiler.project.discovery import Projects
from toolc.compiler.project.files import MAX_FILE_BYTES, PROJECT_FILES, SUFFIXES, walk
from toolc.compiler.project.project import Project
from toolc.compiler.project.suppressions import Suppression
from toolc.model.diagnostics import Diagnostic, Diagnostics
from toolc.model.errors import UsageError
from toolc.model.registry_io import read_registry
from toolc.model.source import Span
from toolc.review.model.comments import comments_of, suppressed_by
from toolc.review.model.state import Reviewed, State, inside
from toolc.review.sources.repository import LINK, Blob, Commit, Repository, in_commit, top_of

_LFS_POINTER: Final = b"version https://git-lfs.github.com/spec/"
"""The beginning of a Git LFS pointer, which is committed instead of the file."""

_NAMES_FILES: Final = (b"file", b"build", b"\\")
"""Parts of the keys ``file``, ``files`` and ``build``, and of escapes in keys. A spec without them names no file."""

WORKING_TREE: Final = "the working tree"


@contextmanager
def state_of(name: str | None, paths: Sequence[Path]) -> Iterator[State]:
    """Yield the state that ``name`` refers to: a registry file, a folder, a commit or (None) the working tree.

    ``paths`` select specs of a commit or of the working tree. The state is valid inside the ``with`` block. Raises
    ``UsageError`` and ``RegistryError``.
    """
    with _open_state(name, resolve(name, Repository.of(Path())), paths) as state:
        yield state


@contextmanager
def two_states(
    base: str, head: str | None, paths: Sequence[Path], head_decides: Callable[[State], bool] = lambda _: True
) -> Iterator[tuple[State, State]]:
    """Yield both states.

    The head cannot relax the settings of the base unless ``head_decides``, which is called with the base.
    """
    repository = Repository.of(Path())
    before, after = resolve(base, repository), resolve(head, repository)
    if repository is not None and isinstance(before, Commit) and not isinstance(after, Path):
        _require_merge_base(repository, base, head or "HEAD")
        for path in paths if after is None else ():
            repository.inside(path)  # refuses a link that leads out of the repository
    with (
        _open_state(base, before, paths) as old,
        _open_state(head, after, paths, None if head_decides(old) else old) as new,
    ):
        yield old, new


def _require_merge_base(repository: Repository, base: str, head: str) -> None:
    """Raise ``UsageError`` if a shallow clone lacks the common ancestor of both histories."""
    if repository.is_shallow and not repository.have_merge_base(base, head):
        raise UsageError(
            f"this clone is shallow and lacks the merge base of {base} and {head}; fetch it with git fetch --unshallow "
            "(GitHub Actions: fetch-depth: 0, GitLab: GIT_DEPTH: 0)"
        )


def write_specs(commit: Commit, paths: Sequence[str], top: Path) -> None:
    """Write the specs at and under ``paths``, the files next to them, and the project files above into ``top``.

    Raises ``UsageError`` for a spec that the commit does not have.
    """
    above = [str(folder / name) for path in paths for folder in PurePosixPath(path).parents for name in PROJECT_FILES]
    blobs = {blob.path: blob for blob in commit.blobs([] if "" in paths else [*paths, *above])}
    texts = [blob for blob in blobs.values() if blob.path in paths or _may_be_spec(blob)]
    folders: set[str] = set()
    for path, data in _write_blobs(commit, texts, top):
        if data.startswith(_LFS_POINTER):
            raise UsageError(
                f"{commit.name}: {path} is stored in Git LFS and not in the commit; compare folders that "
                "contain the file: git worktree add FOLDER COMMIT"
            )
        if any(word in data for word in _NAMES_FILES):
            folders.add(str(PurePosixPath(path).parent))
    written = {blob.path for blob in texts}
    siblings = [
        blob for blob in blobs.values() if folders and blob.path not in written and _is_below(blob.path, folders)
    ]
    # Links are created last, so that no file is written through one, even if the tree was manipulated.
    for _ in _write_blobs(commit, sorted(siblings, key=lambda blob: blob.mode == LINK), top):
        pass


def resolve(name: str | None, repository: Repository | None) -> Commit | Path | None:
    """Return a commit, a path, or None for the working tree. Raises ``UsageError`` for an unknown or ambiguous name."""
    if name is None:
        return None
    place = Path(name)
    if place.exists() and (name.startswith((".", "/")) or place.suffix == ".json"):
        return place
    commit = repository.commit(name) if repository else None
    if commit and place.exists():
        raise UsageError(f"{name!r} is both a commit and a path; write ./{name} for the path, or refs/heads/{name}")
    if commit or place.exists():
        return commit or place
    if repository is None:
        raise UsageError(f"{name!r} is neither a file nor a folder, and the current folder is not in a Git repository")
    raise UsageError(
        f"{name!r} is neither a commit in this repository nor an existing file or folder; {_hint(name, repository)}"
    )


def _hint(name: str, repository: Repository) -> str:
    if ".." in name:
        return "write two names: toolc diff BASE HEAD"
    if ":" in name:
        return "name the commit, and the specs in it with --path"
    if name == "HEAD":
        return "nothing is committed yet"
    if any(mark in name for mark in "~^@"):
        far = "the history of this clone does not go back that far"
        return f"{far}; this clone is shallow: git fetch --unshallow" if repository.is_shallow else far
    fetch = f"fetch it first: git fetch origin {name.removeprefix('origin/')}"
    if repository.is_shallow:
        return f"{fetch} (this clone is shallow: git fetch --unshallow has older commits)"
    return fetch


@contextmanager
def _open_state(
    name: str | None, source: Commit | Path | None, paths: Sequence[Path], base: State | None = None
) -> Iterator[State]:
    """Yield a state. With ``base``, its settings apply where they are stricter."""
    if name is None or source is None:
        yield _compile(WORKING_TREE, paths, "", top_of(Path()), base)
    elif isinstance(source, Commit):
        with tempfile.TemporaryDirectory(prefix="toolc-review-") as folder:
            yield _compile_commit(source, paths, Path(folder).resolve(), base)
    elif source.suffix == ".json" and source.is_file():
        file = read_registry(source)
        tools = {tool.spec.name: Reviewed(tool.spec) for tool in file.tools}
        yield State(name, tools, built_toolsets=file.toolsets)
    else:
        top = source if source.is_dir() else source.parent
        # The folder that corresponds to the top of the base, which is that of the repository for a commit.
        yield _compile(name, [source], "", top_of(top) if base and base.prefix else top, base)


def _compile(label: str, paths: Sequence[Path], prefix: str, top: Path, base: State | None) -> State:
    """Compile the specs at ``paths``. Without specs, as in a new repository, the state has no tools."""
    baseline = _baseline(base, top) if base else None
    compilation = compile_many(paths, baseline=baseline, allow_empty=frozenset(paths))
    diagnostics = compilation.diagnostics
    return State(
        label,
        {tool.spec.name: Reviewed(tool.spec, tool, prefix) for tool in compilation.located},
        diagnostics.map(partial(_with_repository_paths, prefix=prefix)) if prefix else diagnostics,
        compilation.projects,
        prefix,
        top,
        _unused_projects([top] if prefix else paths, compilation.projects),
    )


def _unused_projects(folders: Sequence[Path], used: Sequence[Project]) -> tuple[Project, ...]:
    """Return the project files in ``folders`` that no compiled spec belongs to."""
    projects, known = Projects(Diagnostics()), {project.folder for project in used}
    for folder in folders:
        for name in walk(str(folder)) if folder.is_dir() else ():
            if Path(name).name in PROJECT_FILES:
                projects.of(Path(name))
    return tuple(each for each in projects.loaded if each.folder not in known)


def _with_repository_paths(found: Diagnostic, prefix: str) -> Diagnostic:
    """Return a finding about a commit's files with the paths that the repository uses."""
    span = Span(inside(found.span.path, prefix), found.span.start, found.span.end)
    message, hint = found.message, found.hint
    for folder in (prefix, f"{os.path.relpath(prefix)}/"):
        message, hint = message.replace(folder, ""), hint.replace(folder, "")
    return Diagnostic(found.code, message, span, hint)


def baseline_here(base: State) -> Baseline:
    """Return the settings of the base for specs in the current folder's repository, or in the current folder."""
    return _baseline(base, top_of(Path()))


def _baseline(base: State, top: Path) -> Baseline:
    """Return the settings of the base for specs in ``top``. Policies get the names that they would have there."""
    old_top, projects = base.top.resolve(), dict[str, Project]()
    for place, project in base.projects_by_place.items():
        named = [os.path.relpath(Path(each.path).resolve(), old_top) for each in project.policies]
        policies = [
            replace(each, path=Path(os.path.relpath(top / name)).as_posix())
            for each, name in zip(project.policies, named, strict=True)
        ]
        projects[place] = replace(project, folder=top / place, policies=tuple(policies))
    places = {place for _, place in comments_of(base)}

    def has_comment(comment: Suppression, tools: Sequence[LocatedTool]) -> bool:
        return suppressed_by(comment, tools) in places

    return Baseline(projects, top, has_comment)


def _compile_commit(commit: Commit, paths: Sequence[Path], folder: Path, base: State | None) -> State:
    paths_in_commit = in_commit(commit, paths)
    top = folder / "tree"
    top.mkdir()
    (top / ".git").mkdir()  # the search for project files ends here, as in the repository
    write_specs(commit, paths_in_commit, top)
    present = [top / path for path in paths_in_commit if (top / path).exists()]
    if not present:
        return State(commit.name, {}, prefix=f"{top}/", top=top, unused_projects=_unused_projects([top], ()))
    return _compile(commit.name, present, f"{top}/", top, base)


def _write_blobs(commit: Commit, blobs: Sequence[Blob], top: Path) -> Iterator[tuple[str, bytes]]:
    """Write each blob and yield its content. A file that is too large becomes zero bytes and is not yielded."""
    for blob, data in commit.read_small(blobs):
        _write(top, blob, data or b"")
        if data is None:
            os.truncate(top / blob.path, MAX_FILE_BYTES + 1)
        else:
            yield blob.path, data


def _may_be_spec(blob: Blob) -> bool:
    return blob.mode.startswith("100") and blob.path.lower().endswith(SUFFIXES)


def _is_below(path: str, folders: set[str]) -> bool:
    """Return whether a file is in or below one of these folders. ``.`` is the top."""
    while path:  # creating a PurePosixPath for each of thousands of files is slow
        path = path.rpartition("/")[0]
        if (path or ".") in folders:
            return True
    return False


def _write(top: Path, blob: Blob, data: bytes) -> None:
    path = top / blob.path
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if blob.mode == LINK:
            path.symlink_to(os.fsdecode(data))
            return
        with path.open("xb") as file:
            file.write(data)
        if blob.mode == "100755":
            path.chmod(stat.S_IRWXU | stat.S_IRGRP | stat.S_IXGRP)
    except (OSError, ValueError) as problem:
        raise UsageError(f"{blob.path} of the commit cannot be read: {problem}") from None
