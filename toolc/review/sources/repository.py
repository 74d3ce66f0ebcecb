"""Read commits with Git's plumbing commands. Nothing is checked out, cloned, filtered or written.

Only ``rev-parse``, ``merge-base``, ``ls-tree`` and ``cat-file`` are called. They run no hook, filter or alias, so they
are safe in untrusted repositories. Git itself may fetch objects that a partial clone lacks.
"""

from __future__ import annotations

import os
import posixpath
import subprocess
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import Final

from toolc.compiler.project.files import MAX_FILE_BYTES
from toolc.dataclass import dataclass
from toolc.model.errors import UsageError

_TIMEOUT_SECONDS: Final = 120.0
"""How many seconds one Git command may take. Reading a large commit from a network disk takes seconds.

A command that takes longer probably waits for a lock.
"""

LINK: Final = "120000"
"""The mode that Git uses for a symbolic link."""

_SUBMODULE: Final = "160000"
"""The mode that Git uses for a submodule."""

_UNSAFE_NAMES: Final = frozenset({b"", b".", b"..", b".git"})
"""Names that do not occur in a valid tree (git-fsck(1)) and could lead out of a folder."""

MAX_LINKS: Final = 40
"""The maximum number of links that are followed for one path, as on Linux (path_resolution(7))."""


@dataclass(frozen=True, slots=True)
class Blob:
    """One entry of a commit's tree. ``mode`` is in Git's format (``100644``)."""

    mode: str
    identity: str
    path: str


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit, or another object that has a tree. ``name`` is the user's name for it."""

    repository: Repository
    name: str
    identity: str

    def blobs(self, paths: Sequence[str]) -> tuple[Blob, ...]:
        """Return the files (no submodules) at and under ``paths`` (from the top, empty for all), in Git's order."""
        listed = _list_tree(self.repository, self.identity, tuple(paths))
        return tuple(each for each in listed if each.mode != _SUBMODULE)

    def submodules(self) -> tuple[Blob, ...]:
        """Return the entries of the tree that are submodules. Their ``identity`` is the commit of the submodule."""
        return tuple(each for each in _list_tree(self.repository, self.identity, ()) if each.mode == _SUBMODULE)

    def entries(self, paths: Sequence[str]) -> tuple[Blob, ...]:
        """Return the files at ``paths`` themselves, without the files below them."""
        listing = self.repository.git("ls-tree", "-t", "-z", "--full-tree", self.identity, "--", *paths)
        return tuple(each for each in _entries(listing) if each.mode != _SUBMODULE)

    def _sizes(self, blobs: Sequence[Blob]) -> list[int]:
        if not blobs:
            return []
        answer = self.repository.git("cat-file", "--batch-check", stdin=_object_names(blobs))
        lines = answer.decode(errors="replace").splitlines()
        return [self._size(blob, line.split(" ")) for blob, line in zip(blobs, lines, strict=True)]

    def read(self, blobs: Sequence[Blob]) -> Iterator[bytes]:
        """Yield the bytes of each blob, in order. Raises ``UsageError`` if a blob is missing (in a partial clone)."""
        if not blobs:
            return
        answer = self.repository.git("cat-file", "--batch", stdin=_object_names(blobs))
        at = 0
        for blob in blobs:
            end = answer.index(b"\n", at)
            size = self._size(blob, answer[at:end].decode(errors="replace").split(" "))
            yield answer[end + 1 : end + 1 + size]
            at = end + size + 2

    def read_small(self, blobs: Sequence[Blob]) -> Iterator[tuple[Blob, bytes | None]]:
        """Yield each blob with its bytes as ``read`` does, or with None instead if it exceeds ``MAX_FILE_BYTES``."""
        sizes = self._sizes(blobs)
        contents = self.read([blob for blob, size in zip(blobs, sizes, strict=True) if size <= MAX_FILE_BYTES])
        for blob, size in zip(blobs, sizes, strict=True):
            yield blob, next(contents) if size <= MAX_FILE_BYTES else None

    def _size(self, blob: Blob, words: Sequence[str]) -> int:
        """Parse the output of ``cat-file`` for a blob: its hash, ``blob`` and its size, or that it is missing."""
        if len(words) == 3:
            return int(words[2])
        raise UsageError(
            f"{self.name}: {blob.path} is not in this clone; fetch it with: git fetch --refetch, "
            "or clone without --filter"
        )


@dataclass(frozen=True, slots=True)
class Repository:
    """A Git repository, identified by the top folder of its working tree."""

    top: Path

    @classmethod
    def of(cls, folder: Path) -> Repository | None:
        """Return the repository that contains ``folder``, or None. Raises ``UsageError`` if Git is not installed."""
        result = _run(("rev-parse", "--show-toplevel"), folder)
        if result.returncode == 0:
            return cls(Path(os.fsdecode(result.stdout).removesuffix("\n")))
        error_text = result.stderr.decode(errors="replace")
        if place := next((name for name in ("GIT_DIR", "GIT_OBJECT_DIRECTORY") if os.environ.get(name)), ""):
            raise UsageError(f"Git cannot read the repository that {place} names: {_first_line(error_text)}")
        if "not a git repository" in error_text:
            return None
        raise UsageError(f"Git cannot read the repository at {folder}: {_first_line(error_text)}{_advice(error_text)}")

    def commit(self, name: str) -> Commit | None:
        """Return the commit that ``name`` (a branch, a tag, a hash, ``HEAD~2``) refers to, or None if there is none."""
        if name.startswith("-") or "\0" in name or "\n" in name:
            return None
        result = _run(("rev-parse", "--verify", "--quiet", f"{name}^{{tree}}"), self.top)
        return Commit(self, name, result.stdout.decode().strip()) if result.returncode == 0 else None

    @property
    def is_shallow(self) -> bool:
        """Return whether this clone is shallow, so that older commits are missing."""
        return self.git("rev-parse", "--is-shallow-repository").strip() == b"true"

    def have_merge_base(self, *names: str) -> bool:
        """Return whether this clone has a common ancestor of two commits. True if one of them has no history."""
        commits = [_run(("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}"), self.top) for name in names]
        if any(each.returncode for each in commits):  # a tree, or a branch without commits
            return True
        found = _run(("merge-base", *(each.stdout.decode().strip() for each in commits)), self.top)
        return found.returncode == 0

    def inside(self, path: Path) -> str:
        """Return ``path`` relative to the top (empty for the top), with ``/``. Raises ``UsageError`` outside it."""
        real = resolved(path)
        top = self.top.resolve()
        if not real.is_relative_to(top):
            raise UsageError(f"{path} is not in the repository {self.top}, so it is not part of a commit")
        inside = PurePosixPath(real.relative_to(top).as_posix())
        return "" if inside == PurePosixPath() else str(inside)

    def git(self, *arguments: str, stdin: bytes | None = None) -> bytes:
        """Run Git and return its output. Raises ``UsageError`` with Git's message."""
        result = _run(arguments, self.top, stdin)
        if result.returncode:
            raise UsageError(f"git {arguments[0]} failed: {_first_line(result.stderr.decode(errors='replace'))}")
        return result.stdout


def top_of(path: Path) -> Path:
    """Return the top of the repository that contains ``path``, or the folder if there is no repository."""
    folder = path if path.is_dir() else path.parent
    repository = Repository.of(folder)
    return repository.top if repository else folder


def resolved(path: Path) -> Path:
    """Return ``path`` with all links followed. Raises ``UsageError`` for a link that leads to itself."""
    try:
        return path.resolve()
    except (OSError, RuntimeError):
        raise UsageError(f"{path} is part of a loop of symbolic links") from None


def in_commit(commit: Commit, paths: Sequence[Path]) -> list[str]:
    """Return ``paths`` relative to the top of a commit. Raises ``UsageError`` if a path or its link leads out of it."""
    return [_follow_links(commit, path_in_repository(commit.repository, path)) for path in paths]


def concerns(path: str, places: Sequence[str]) -> bool:
    """Return whether a path contains one of ``places``, or is in one of them. An empty path means the top."""
    return any(
        not place or not path or place == path or path.startswith(f"{place}/") or place.startswith(f"{path}/")
        for place in places
    )


def path_in_repository(repository: Repository, path: Path) -> str:
    """Return ``path`` relative to the top, without following links below it. Raises ``UsageError`` outside it."""
    top = repository.top.resolve()
    absolute = Path(os.path.abspath(path))  # noqa: PTH100  links stay links
    ancestors = reversed([absolute, *absolute.parents])
    root = next((each for each in ancestors if resolved(each) == top), None)
    if root is None:
        return repository.inside(path)
    return _without_dot(absolute.relative_to(root).as_posix())


@lru_cache(maxsize=2)
def _list_tree(repository: Repository, identity: str, paths: tuple[str, ...]) -> tuple[Blob, ...]:
    """List a tree. The result is cached, because a comparison lists each of its two trees twice."""
    return tuple(_entries(repository.git("ls-tree", "-r", "-z", "--full-tree", identity, "--", *paths)))


def _object_names(blobs: Sequence[Blob]) -> bytes:
    return "".join(f"{blob.identity}\n" for blob in blobs).encode()


def _run(arguments: Sequence[str], folder: Path, stdin: bytes | None = None) -> subprocess.CompletedProcess[bytes]:
    # No user can enter a password, and messages are compared, so they must be in English.
    environment = {**os.environ, "GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"}
    command = ("git", "--no-pager", "--literal-pathspecs", *arguments)
    try:
        return subprocess.run(
            command,
            cwd=folder,
            env=environment,
            input=stdin or b"",
            capture_output=True,
            check=False,
            timeout=_TIMEOUT_SECONDS,
        )
    except FileNotFoundError:
        raise UsageError("Git is not installed, or not in PATH; install it, or compare folders or registries") from None
    except subprocess.TimeoutExpired:
        raise UsageError(f"git {arguments[0]} took longer than {_TIMEOUT_SECONDS:.0f} seconds; try again") from None


def _entries(listing: bytes) -> Iterator[Blob]:
    for line in listing.split(b"\0")[:-1]:
        fields, _, path = line.partition(b"\t")
        mode, kind, identity = fields.decode().split()
        if kind in {"blob", "commit"} and _UNSAFE_NAMES.isdisjoint(path.lower().split(b"/")):
            yield Blob(mode, identity, os.fsdecode(path))


def _first_line(error_text: str) -> str:
    lines = [line for line in error_text.splitlines() if line.strip()]
    return lines[0].removeprefix("fatal: ").removeprefix("error: ") if lines else "no reason was given"


def _advice(error_text: str) -> str:
    if "must be run in a work tree" in error_text:
        return "; go to one of its working trees, or create one: git worktree add FOLDER"
    if "dubious ownership" in error_text:
        return "; if you trust its owner: git config --global --add safe.directory FOLDER"
    return ""


def _follow_links(commit: Commit, path: str) -> str:
    followed = path
    for _ in range(MAX_LINKS):
        parents = [str(each) for each in (PurePosixPath(followed), *PurePosixPath(followed).parents)][:-1]
        link = next((each for each in commit.entries(parents) if each.mode == LINK), None) if parents else None
        if link is None:
            return followed
        target = os.fsdecode(b"".join(commit.read([link])))
        rest = followed[len(link.path) :].lstrip("/")
        followed = _without_dot(posixpath.normpath(posixpath.join(posixpath.dirname(link.path), target, rest)))
        if followed.startswith(("/", "../")) or followed == "..":
            raise UsageError(f"{commit.name}: {link.path} is a link that points outside the repository")
    raise UsageError(f"{commit.name}: {path} is part of a loop of symbolic links")


def _without_dot(path: str) -> str:
    return "" if path == "." else path
