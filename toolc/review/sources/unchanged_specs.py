"""Which specs of two states must be compiled to compare them: of two thousand, those that may differ.

The same text in the same place under the same project files compiles to the same tool, unless it speaks of other
files. Where that cannot be told from texts alone (a project file changed or speaks of files, there are toolsets,
tools that call others, or words written in ways that few people know), all are compiled.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from io import FileIO
from pathlib import Path, PurePosixPath
from typing import Final, Literal

from toolc.compiler.cache.answers import versions
from toolc.compiler.cache.file import cache_folder, digest, load, save
from toolc.compiler.project.discovery import PROJECT_FILES, SUFFIXES, walk
from toolc.review.sources.repository import Commit, Repository

_REFERS: Final = re.compile(rb"\b(?:files?|build)\b[\"']?[ \t]*[:=]")
_CALLS: Final = re.compile(rb"\b(?:composite|agent|toolsets)\b")
_NAMED: Final = rb"name(?<!\wname)\b"
_NAME: Final = re.compile(
    rb"name(?:(?<=^name)|(?<=^[\"']name)|(?<=[ \t{,-]name)|(?<=[ \t{,-][\"']name))"
    rb"[\"']?[ \t]*[:=][ \t]*(?:[&!][^\s]+[ \t]+)*[\"']?([A-Za-z_][A-Za-z0-9_-]*)",
    re.MULTILINE,
)
"""More than the names of tools: one that is none only makes a review say that a text names it."""

_ODD: Final = (
    # A letter that is written as a number.
    ((b"\\",), re.compile(rb"\\[xuU]")),
    # A key and its value apart.
    ((b"?",), re.compile(rb"\n[ \t-]*\?(?=\s)|[\[{,][ \t]*\?\s[^,?()]*:")),
    # A key that is an alias, has an anchor or a tag.
    ((b"*", b"&", b"!"), re.compile(rb"[*&!][^\s,\]}]*[ \t]+:(?=\s)")),
    ((b"*", b"&", b"!"), re.compile(rb"\n[ \t]*[*&!]")),
    # A name in other lines, or elsewhere.
    ((b"name",), re.compile(_NAMED + rb"[\"']?[ \t]*[:=][ \t]*(?:[|>&*!]|[\"'][^\"'\n]*\n)")),
    (
        (b"name",),
        re.compile(
            _NAMED + rb"[\"']?[ \t]*:[ \t]*(?:#[^\n]*)?\r?\n[ \t]*[\"']?[\w-]+[\"']?[ \t]*(?:#[^\n]*)?(?:\r?\n|\Z)"
        ),
    ),
    # Other ends of lines.
    ((b"\r",), re.compile(rb"\r(?!\n)")),
    ((b"\x00",), re.compile(rb"\x00")),
)
"""Ways of writing a key or a name that the patterns above do not see, and that hardly anybody uses."""

_COLON: Final = re.compile(rb"\n[ \t]*:")
_APART: Final = re.compile(rb"\n[ \t]*:(?=\s)|\b(?:files?|build|name)\b[\"']?(?:[ \t]*(?:#[^\n]*)?\r?\n)+[ \t]*:")
"""A value whose line begins with the colon, or with more."""

_ENCODED: Final = re.compile(rb"\xff|\xfe|\xc2\x85|\xe2\x80[\xa8\xa9]")
"""Other encodings, and ends of lines that are no ASCII."""


def names(text: bytes) -> list[bytes]:
    """What may be the names of tools in a spec."""
    return _NAME.findall(text)


def needs_full_parse(text: bytes) -> bool:
    """Whether keys or names are written in a way that is not looked into here."""
    begun = b"\n" + text  # each line has an end before it then
    if _COLON.search(begun) and _APART.search(begun):
        return True
    if not text.isascii() and _ENCODED.search(text):
        return True
    return any(any(word in text for word in words) and pattern.search(begun) for words, pattern in _ODD)


def mentions_tools(text: bytes) -> bool:
    """Whether a spec or a project file may name other tools."""
    words = (b"composite", b"agent", b"toolsets")
    return any(word in text for word in words) and _CALLS.search(text) is not None


def refers(text: bytes) -> bool:
    """Whether a spec that is not odd may take in files beside it."""
    return (b"file" in text or b"build" in text) and _REFERS.search(text) is not None


def speaks_of_files(text: bytes) -> bool:
    """Whether a spec may take in files beside it, however it is written."""
    return refers(text) or needs_full_parse(text)


_FORMAT: Final = 1


@dataclass(frozen=True, slots=True)
class Flawless:
    """A spec without errors that speaks of no other file and no other tool.

    ``identity`` is Git's name for its text, ``words`` are what the text seems to call tools, and ``tools`` the
    names and aliases that its tools really have.
    """

    identity: str
    words: tuple[str, ...]
    tools: tuple[str, ...]


def place_of(top: Path, paths: Sequence[str], projects: Mapping[str, str]) -> Path | None:
    """Where it is kept for the specs at ``paths`` of the repository at ``top``; None where nothing can be kept.

    ``projects`` are Git's names for the texts of the project files that hold for them, by path.
    """
    folder = cache_folder()
    if folder is None:
        return None
    asked = [_FORMAT, "review", str(top), [*paths], sorted(projects.items()), [*versions()]]
    return folder / f"check-{digest(json.dumps(asked))}.json"


def kept(place: Path | None) -> dict[str, Flawless]:
    """Those that are known, by path; none where the file is missing, or somebody else could have written it."""
    try:
        found = load(place).answer or {}
        return {
            path: Flawless(identity, tuple(words), tuple(tools)) for path, (identity, words, tools) in found.items()
        }
    except (ValueError, TypeError, AttributeError):
        return {}


def keep(place: Path, specs: Mapping[str, Flawless]) -> None:
    """Write down all that is known, where that can be written."""
    save(place, {path: [each.identity, each.words, each.tools] for path, each in specs.items()})


@dataclass(frozen=True, slots=True)
class Texts:
    """The YAML and TOML files of one state by their paths from the repository's top, with Git's names for them."""

    identities: Mapping[str, str]
    read: Callable[[Sequence[str]], Iterable[bytes]]


@dataclass(frozen=True, slots=True)
class Narrowed:
    """What is left to be compiled of two states, by paths from ``top``, and the names of all tools of either.

    ``paths`` may differ. ``unproved`` are the same in both, and compiled in the head to see whether they have
    errors; ``known`` are those that have none. ``texts`` are those of the head that have been read, and ``plain``
    those among them that speak of no other file or tool, with tools that are yet to be compiled.
    """

    top: Path
    paths: frozenset[str]
    names: frozenset[str]
    unproved: frozenset[str] = frozenset()
    known: Mapping[str, Flawless] = field(default_factory=dict)
    plain: Mapping[str, Flawless] = field(default_factory=dict)
    texts: Mapping[str, bytes] = field(default_factory=dict)

    def of_base(self) -> Narrowed:
        """What is compiled of the base: its errors are its own, so what did not change is of no interest."""
        return replace(self, unproved=frozenset(), texts={})

    def clashing(self, tools: Iterable[str]) -> frozenset[str]:
        """Specs known to be without errors that have a tool of one of these names: the two are wrong together."""
        names = {*tools}
        return frozenset(
            path for path, each in self.known.items() if path not in self.paths and not names.isdisjoint(each.tools)
        )


def of_commit(commit: Commit, paths: Sequence[str]) -> Texts:
    """Those of a commit at and under ``paths``, and the project files above."""
    blobs = {
        blob.path: blob
        for blob in commit.blobs([] if "" in paths else [*paths, *above(paths)])
        if blob.mode.startswith("100") and blob.path.lower().endswith(SUFFIXES)
    }
    identities = {path: blob.identity for path, blob in blobs.items()}
    return Texts(identities, lambda wanted: commit.read([blobs[path] for path in wanted]))


def of_working_tree(repository: Repository, paths: Sequence[str], algorithm: Literal["sha1", "sha256"]) -> Texts:
    """Those of the working tree as they are: what Git would make of them as it adds them runs programs.

    ``algorithm`` is that of the commit with which they are compared.
    """
    top = str(repository.top)
    places = [os.path.join(top, path) for path in [*paths, *above(paths)]]  # noqa: PTH118  thousands of them
    found = [each for place in places for each in _files(place)]
    texts = {place[len(top) + 1 :]: _held(place) for place in found}
    return Texts(
        {path: _hashed(data, algorithm) for path, data in texts.items()},
        lambda wanted: map(texts.__getitem__, wanted),
    )


def _files(place: str) -> Iterable[str]:
    if Path(place).is_dir():
        return walk(place.rstrip("/"))
    return [place] if Path(place).is_file() else []


def _held(place: str) -> bytes:
    """What a file holds, with as few questions to the system as there can be: there are thousands."""
    with FileIO(place) as file:
        return file.readall()


def _hashed(data: bytes, algorithm: Literal["sha1", "sha256"]) -> str:
    """Git's name for a file's content."""
    return hashlib.new(algorithm, b"blob %d\0%b" % (len(data), data), usedforsecurity=False).hexdigest()


def above(paths: Sequence[str]) -> list[str]:
    """Where project files may stand that hold for ``paths``."""
    return [
        str(folder / name) for path in paths for folder in PurePosixPath(path).parents for name in PROJECT_FILES
    ]


def is_project(path: str) -> bool:
    """Whether it is called as project files are."""
    return path.rpartition("/")[2] in PROJECT_FILES


def projects(texts: Texts) -> dict[str, str]:
    """Git's names for the project files among them, by path."""
    return {path: identity for path, identity in texts.identities.items() if is_project(path)}


def narrowed(old: Texts, new: Texts, top: Path, kept: Mapping[str, Flawless]) -> Narrowed | None:
    """What may differ between two states of the repository at ``top``; None where all must be compiled.

    Of the head, what is not in ``kept`` is to be compiled too.
    """
    before, after = old.identities, new.identities
    differing = {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}
    if any(is_project(path) for path in differing):
        return None
    known = {path: kept[path] for path in after if path in kept and kept[path].identity == after[path]}
    fresh = [path for path in after if path not in known]
    texts = dict(zip(fresh, new.read(fresh), strict=True))
    gone = [path for path in before if path in differing]
    everything = [*texts.values(), *old.read(gone)]
    if any(mentions_tools(text) or needs_full_parse(text) for text in everything):
        return None
    if any(refers(text) for path, text in texts.items() if is_project(path)):
        return None
    referring = {path for path, text in texts.items() if refers(text)}
    named = {name.decode() for text in everything for name in names(text)}
    plain = {
        path: Flawless(after[path], tuple(sorted({name.decode() for name in names(text)})), ())
        for path, text in texts.items()
        if path not in referring and not is_project(path)
    }
    return Narrowed(
        top,
        frozenset(differing | referring),
        frozenset(named.union(*(each.words for each in known.values()))),
        frozenset(plain.keys() - differing),
        known,
        plain,
        texts,
    )
