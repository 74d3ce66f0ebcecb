"""Which specs of two states must be compiled to compare them: of two thousand, those that may differ.

The same text in the same place under the same project files compiles to the same tool, unless it speaks of other
files. Where that cannot be told from texts alone (a project file changed or speaks of files, there are toolsets,
tools that call others, or words written in ways that few people know), all are compiled.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final

from toolc.compiler.find import PROJECT_FILES, SUFFIXES, walk
from toolc.review.git import Commit, Repository

_REFERS: Final = re.compile(rb"\b(?:files?|build)\b[\"']?[ \t]*[:=]")
_CALLS: Final = re.compile(rb"\b(?:composite|agent|toolsets)\b")
_NAME: Final = re.compile(
    rb"(?:^|[ \t{,-])[\"']?name[\"']?[ \t]*[:=][ \t]*(?:[&!][^\s]+[ \t]+)*[\"']?([A-Za-z_][A-Za-z0-9_-]*)",
    re.MULTILINE,
)
"""More than the names of tools: one that is none only makes a review say that a text names it."""

_ODD: Final = re.compile(
    rb"\\[xuU]"  # a letter that is written as a number
    rb"|^[ \t-]*\?(?=\s)|[\[{,][ \t]*\?\s[^,?()]*:|^[ \t]*:(?=\s)"  # a key and its value apart
    rb"|[*&!][^\s,\]}]*[ \t]+:(?=\s)|^[ \t]*[*&!]"  # a key that is an alias, has an anchor or a tag
    rb"|\b(?:files?|build|name)\b[\"']?(?:[ \t]*(?:#[^\n]*)?\r?\n)+[ \t]*:"
    rb"|\bname\b[\"']?[ \t]*[:=][ \t]*(?:[|>&*!]|[\"'][^\"'\n]*\n)"  # a name in other lines, or elsewhere
    rb"|\bname\b[\"']?[ \t]*:[ \t]*(?:#[^\n]*)?\r?\n[ \t]*[\"']?[\w-]+[\"']?[ \t]*(?:#[^\n]*)?(?:\r?\n|\Z)"
    rb"|\xff|\xfe|\x00|\xc2\x85|\xe2\x80[\xa8\xa9]|\r(?!\n)",  # other encodings, other ends of lines
    re.MULTILINE,
)
"""Ways of writing a key or a name that the patterns above do not see, and that hardly anybody uses."""


@dataclass(frozen=True, slots=True)
class Texts:
    """The YAML and TOML files of one state by their paths from the repository's top, with Git's names for them."""

    identities: Mapping[str, str]
    read: Callable[[Sequence[str]], Iterable[bytes]]


@dataclass(frozen=True, slots=True)
class Narrowed:
    """What is left to be compiled of two states, by paths from ``top``, and the names of all tools of either."""

    top: Path
    paths: frozenset[str]
    names: frozenset[str]


def of_commit(commit: Commit, paths: Sequence[str]) -> Texts:
    """Those of a commit at and under ``paths``, and the project files above."""
    blobs = {
        blob.path: blob
        for blob in commit.blobs([] if "" in paths else [*paths, *above(paths)])
        if blob.mode.startswith("100") and blob.path.lower().endswith(SUFFIXES)
    }
    identities = {path: blob.identity for path, blob in blobs.items()}
    return Texts(identities, lambda wanted: commit.read([blobs[path] for path in wanted]))


def of_working_tree(repository: Repository, paths: Sequence[str]) -> Texts:
    """Those of the working tree as they are: what Git would make of them as it adds them runs programs."""
    top = str(repository.top)
    places = [os.path.join(top, path) for path in [*paths, *above(paths)]]  # noqa: PTH118  thousands of them
    found = [each for place in places for each in _files(place)]
    texts = {place[len(top) + 1 :]: Path(place).read_bytes() for place in found}
    return Texts(
        {path: _hashed(data) for path, data in texts.items()}, lambda wanted: map(texts.__getitem__, wanted)
    )


def _files(place: str) -> Iterable[str]:
    if Path(place).is_dir():
        return walk(place.rstrip("/"))
    return [place] if Path(place).is_file() else []


def _hashed(data: bytes) -> str:
    """Git's name for a file's content."""
    return hashlib.sha1(b"blob %d\0%b" % (len(data), data), usedforsecurity=False).hexdigest()


def above(paths: Sequence[str]) -> list[str]:
    """Where project files may stand that hold for ``paths``."""
    return [
        str(folder / name) for path in paths for folder in PurePosixPath(path).parents for name in PROJECT_FILES
    ]


def speaks_of_files(text: bytes) -> bool:
    """Whether a spec may take in files beside it."""
    return _REFERS.search(text) is not None or _ODD.search(text) is not None


def narrowed(old: Texts, new: Texts, top: Path) -> Narrowed | None:
    """What may differ between two states of the repository at ``top``; None where all must be compiled."""
    before, after = old.identities, new.identities
    differing = {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}
    if any(PurePosixPath(path).name in PROJECT_FILES for path in differing):
        return None
    texts = dict(zip(after, new.read([*after]), strict=True))
    gone = [path for path in before if path in differing]
    everything = [*texts.values(), *old.read(gone)]
    if any(_CALLS.search(text) or _ODD.search(text) for text in everything):
        return None
    if any(speaks_of_files(text) for path, text in texts.items() if PurePosixPath(path).name in PROJECT_FILES):
        return None
    referring = {path for path, text in texts.items() if speaks_of_files(text)}
    names = {name.decode() for text in everything for name in _NAME.findall(text)}
    return Narrowed(top, frozenset(differing | referring), frozenset(names))
