"""Files other than specs, such as the accepted changes, on each side of a review.

The author of a change controls every file of the repository under review, so the version in the base counts. For a file
outside that repository, the current version counts.
"""

from __future__ import annotations

import os
import tempfile
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from toolc.compiler.project.files import ACCEPTED, MAX_FILE_BYTES, PROJECT_FILES, SUFFIXES
from toolc.dataclass import dataclass
from toolc.document.loader import load_data
from toolc.model.diagnostics import Diagnostics
from toolc.model.errors import UsageError
from toolc.model.names import LOCK_NAME
from toolc.model.text import render_size
from toolc.review.sources.repository import LINK, MAX_LINKS, Commit, Repository, concerns, in_commit, resolved, top_of
from toolc.review.sources.states import resolve

_TOOLC_FILES: Final = frozenset({*PROJECT_FILES, LOCK_NAME, ACCEPTED})
"""Files that show that a repository already uses toolc."""

_CHUNK: Final = 50
"""The number of files of a commit that are read together, so that the search for a spec can end early.

Each read starts Git, which takes as long as reading dozens of files.
"""


@contextmanager
def reviewed_files(base: str, head: str | None) -> Iterator[ReviewedFiles]:
    """Yield the files of both sides. ``head`` is None for the working tree. Raises ``UsageError``."""
    repository = Repository.of(Path())
    sides = resolve(base, repository), resolve(head, repository)
    assert sides[0] is not None
    with tempfile.TemporaryDirectory(prefix="toolc-review-") as folder:
        yield ReviewedFiles(sides[0], sides[1], repository, Path(folder))


@dataclass(frozen=True, slots=True)
class ReviewedFiles:
    """Both sides of a review. ``head`` is None for the working tree. Files of commits are written to ``folder``."""

    base: Commit | Path
    head: Commit | Path | None
    repository: Repository | None
    folder: Path

    def is_outside(self, path: Path) -> bool:
        """Return whether neither ``path`` nor a link on the way to it is in the repository under review."""
        return not any(_passes_through(path, root) for root in self._under_review())

    def of_base(self, path: Path) -> Path | None:
        """Return the path of the file in the base, or None if the base has no such file. A registry file has none."""
        if isinstance(self.base, Commit):
            return self._of_commit(self.base, path)
        return self._in_base_folder(path) if self.base.is_dir() else None

    def of_head(self, path: Path) -> Path | None:
        """Return the path of the file in the head, or None if the head has no such file."""
        if isinstance(self.head, Commit):
            return self._of_commit(self.head, path)
        places = [path]
        if isinstance(self.head, Path) and self.head.is_dir() and path == Path(path.name):
            places.insert(0, self.head / path)
        # Reading a device or a pipe, which a link in the head may lead to, might never end.
        return next((each for each in places if each.is_file()), None)

    def is_first_adoption(self, paths: Sequence[Path]) -> bool:
        """Return whether the base has no project file, no lock file, no accepted changes and no spec.

        If the base has a submodule at ``paths``, these files may be there.
        """
        if isinstance(self.base, Commit):
            if any(concerns(each.path, in_commit(self.base, paths)) for each in self.base.submodules()):
                return False
            blobs = [blob for blob in self.base.blobs([]) if _is_known(blob.path) or _may_be_spec(blob.path)]
            if any(_is_known(blob.path) for blob in blobs):
                return False
            regular = [blob for blob in blobs if blob.mode != LINK]
            chunks = (regular[start : start + _CHUNK] for start in range(0, len(regular), _CHUNK))
            found = (each for chunk in chunks for each in self.base.read_small(chunk))
            return not any(data is not None and _is_spec(blob.path, data) for blob, data in found)
        return self.base.is_dir() and not any(_is_known(each) or _is_spec_file(each) for each in _files(self.base))

    def _under_review(self) -> Iterator[Path]:
        """Yield the folders that the author of the change controls."""
        if not isinstance(self.head, Path) or isinstance(self.base, Commit):
            yield self.repository.top if self.repository else Path()
        if isinstance(self.head, Path):
            yield top_of(self.head)

    def _of_commit(self, commit: Commit, path: Path) -> Path | None:
        (place,) = in_commit(commit, [path])
        blobs = [blob for blob in commit.entries([place]) if blob.path == place and blob.mode != LINK]
        if not place or not blobs:
            return None
        ((_, data),) = commit.read_small(blobs)
        if data is None:
            raise UsageError(f"{commit.name}: {place} is larger than {render_size(MAX_FILE_BYTES)}")
        folder = self.folder / commit.identity
        folder.mkdir(exist_ok=True)
        copy = folder / path.name
        copy.write_bytes(data)
        return copy

    def _in_base_folder(self, path: Path) -> Path | None:
        """Return the file in the base folder, or in its repository, that corresponds to ``path``."""
        assert isinstance(self.base, Path)
        if path.exists() and resolved(path).is_relative_to(resolved(self.base)):
            return path
        places = [self.base / path] if path == Path(path.name) else []
        for root, base in self._corresponding():
            with_root = resolved(path.parent) / path.name
            if with_root.is_relative_to(root):
                places.append(base / with_root.relative_to(root))
        return next((each for each in places if each.is_file()), None)

    def _corresponding(self) -> Iterator[tuple[Path, Path]]:
        """Yield folders of the head, each with the folder of the base that corresponds to it."""
        assert isinstance(self.base, Path)
        if isinstance(self.head, Path) and self.head.is_dir():
            yield resolved(self.head), self.base
        base_top = top_of(self.base)
        for root in self._under_review():
            if resolved(base_top) != resolved(root):
                yield resolved(root), base_top


def _passes_through(path: Path, top: Path) -> bool:
    """Return whether ``path``, or a link on the way to its file, is in the folder ``top``. Raises ``UsageError``."""
    real_top = resolved(top)
    place = Path("/") if path.is_absolute() else Path.cwd()
    steps, links = deque(path.parts[1:] if path.is_absolute() else path.parts), 0
    while steps:
        step = steps.popleft()
        place = place.parent if step == ".." else place / step
        if not place.is_symlink():
            continue
        if place.is_relative_to(real_top):
            return True
        links += 1
        if links > MAX_LINKS:
            raise UsageError(f"{path} is part of a loop of symbolic links")
        target = place.readlink()
        steps.extendleft(reversed(target.parts[1:] if target.is_absolute() else target.parts))
        place = Path("/") if target.is_absolute() else place.parent
    return place.is_relative_to(real_top)


def _files(folder: Path) -> Iterator[Path]:
    for place, folders, names in os.walk(folder):
        folders[:] = [each for each in folders if each != ".git"]
        yield from (Path(place) / name for name in names)


def _is_known(path: str | Path) -> bool:
    return os.path.basename(path) in _TOOLC_FILES  # noqa: PTH119  thousands of paths


def _may_be_spec(path: str) -> bool:
    return path.lower().endswith(SUFFIXES)


def _is_spec(path: str, data: bytes) -> bool:
    if b"toolc" not in data:
        return False
    document = load_data(data, Path(path), path, Diagnostics())
    return document is None or document.root.entry("toolc") is not None


def _is_spec_file(path: Path) -> bool:
    if not _may_be_spec(path.name) or path.is_symlink() or not path.is_file():
        return False
    return path.stat().st_size <= MAX_FILE_BYTES and _is_spec(path.name, path.read_bytes())
