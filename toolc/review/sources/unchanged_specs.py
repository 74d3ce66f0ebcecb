"""Which specs of two states must be compiled to compare them: only those that may differ.

The same text in the same place under the same project files compiles to the same tool, unless it refers to other
files. All specs are compiled if the texts alone do not show this: a project file changed or refers to files, there
are toolsets, tools call others, or keys are written in unusual ways.
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

from toolc.compiler.cache.file import cache_folder, digest, load, save
from toolc.compiler.cache.validity import versions
from toolc.compiler.project.files import PROJECT_FILES, SUFFIXES, walk
from toolc.review.model.links import SearchWords
from toolc.review.sources.repository import Commit, Repository

_FILES: Final = re.compile(rb"\b(?:files?|build)\b[\"']?[ \t]*[:=]")
_TOOLS: Final = re.compile(rb"\b(?:composite|agent|toolsets)\b")
_NAMED: Final = rb"name(?<!\wname)\b"
_NAME: Final = re.compile(
    rb"name(?:(?<=^name)|(?<=^[\"']name)|(?<=[ \t{,-]name)|(?<=[ \t{,-][\"']name))"
    rb"[\"']?[ \t]*[:=][ \t]*(?:[&!][^\s]+[ \t]+)*[\"']?([A-Za-z_][A-Za-z0-9_-]*)",
    re.MULTILINE,
)
"""Matches at least the names of tools. A false match only makes a review report that a text names a tool."""

_UNUSUAL: Final = (
    # A character written as a number.
    ((b"\\",), re.compile(rb"\\[xuU]")),
    # A key and its value on different lines.
    ((b"?",), re.compile(rb"\n[ \t-]*\?(?=\s)|[\[{,][ \t]*\?\s[^,?()]*:")),
    # A key that is an alias, has an anchor or a tag.
    ((b"*", b"&", b"!"), re.compile(rb"[*&!][^\s,\]}*&!]*+[ \t]++:(?=\s)")),
    ((b"*", b"&", b"!"), re.compile(rb"\n[ \t]*[*&!]")),
    # A name on another line than its key, or in another form.
    ((b"name",), re.compile(_NAMED + rb"[\"']?[ \t]*[:=][ \t]*(?:[|>&*!]|[\"'][^\"'\n]*\n)")),
    (
        (b"name",),
        re.compile(
            _NAMED + rb"[\"']?[ \t]*:[ \t]*(?:#[^\n]*)?\r?\n[ \t]*[\"']?[\w-]+[\"']?[ \t]*(?:#[^\n]*)?(?:\r?\n|\Z)"
        ),
    ),
    # Other line endings.
    ((b"\r",), re.compile(rb"\r(?!\n)")),
    ((b"\x00",), re.compile(rb"\x00")),
)
"""Rare ways of writing a key or a name that the patterns above do not match."""

_COLON: Final = re.compile(rb"\n[ \t]*:")
_APART: Final = re.compile(rb"\n[ \t]*:(?=\s)|\b(?:files?|build|name)\b[\"']?(?:[ \t]*(?:#[^\n]*)?\r?\n)+[ \t]*:")
"""A key whose colon is on a later line than the key."""

_ENCODED: Final = re.compile(rb"\xff|\xfe|\xc2\x85|\xe2\x80[\xa8\xa9]")
"""Bytes that indicate another encoding than UTF-8, or line endings outside ASCII."""

_WORD: Final = re.compile(r"\w+")
_MOST: Final = 0.6
_ALMOST_ALL: Final = 0.9
"""The parts of the words of a description, and of an effect, that the text of a similar spec has at least.

With lower shares, nearly all specs would be compiled. With higher ones, a spec whose text was split differently is
missed.
"""

_MAX_SIMILAR: Final = 20
"""The maximum number of specs that are compiled to compare their tools with one tool.

The most similar ones are enough to find a copy.
"""

_FORMAT: Final = 1


def possible_names(text: bytes) -> list[bytes]:
    """Return the possible names of tools in a spec."""
    return _NAME.findall(text)


def needs_full_parse(text: bytes) -> bool:
    """Return whether keys or names are written in a way that the patterns here do not match."""
    lines = b"\n" + text  # so that every line follows a line feed
    if _COLON.search(lines) and _APART.search(lines):
        return True
    if not text.isascii() and _ENCODED.search(text):
        return True
    return any(any(word in text for word in words) and pattern.search(lines) for words, pattern in _UNUSUAL)


def mentions_tools(text: bytes) -> bool:
    """Return whether a spec or a project file may name other tools."""
    words = (b"composite", b"agent", b"toolsets")
    return any(word in text for word in words) and _TOOLS.search(text) is not None


def refers_to_files(text: bytes) -> bool:
    """Return whether a spec without unusual syntax may include files next to it."""
    return (b"file" in text or b"build" in text) and _FILES.search(text) is not None


def mentions_files(text: bytes) -> bool:
    """Return whether a spec may include files next to it, in any syntax."""
    return refers_to_files(text) or needs_full_parse(text)


@dataclass(frozen=True, slots=True)
class ErrorFreeSpec:
    """A spec without errors that refers to no other file and no other tool.

    ``identity`` is Git's hash of its text, ``words`` are the possible names of tools in the text, and ``tools`` are
    the actual names and aliases of its tools.
    """

    identity: str
    words: tuple[str, ...]
    tools: tuple[str, ...]


def cache_path(top: Path, paths: Sequence[str], projects: Mapping[str, str]) -> Path | None:
    """Return the cache file for the specs at ``paths`` of the repository at ``top``; None without a cache folder.

    ``projects`` are Git's hashes of the project files that apply to them, by path.
    """
    folder = cache_folder()
    if folder is None:
        return None
    key = [_FORMAT, "review", str(top), [*paths], sorted(projects.items()), [*versions()]]
    return folder / f"check-{digest(json.dumps(key))}.json"


def load_known(path: Path | None) -> dict[str, ErrorFreeSpec]:
    """Return the known specs by path; none if the file is missing, or another user could have written it."""
    try:
        found = load(path).answer or {}
        return {
            path: ErrorFreeSpec(identity, tuple(words), tuple(tools))
            for path, (identity, words, tools) in found.items()
        }
    except (ValueError, TypeError, AttributeError):
        return {}


def save_known(path: Path, specs: Mapping[str, ErrorFreeSpec]) -> None:
    """Store all known specs, if the file can be written."""
    save(path, {spec: [each.identity, each.words, each.tools] for spec, each in specs.items()})


@dataclass(frozen=True, slots=True)
class Texts:
    """The YAML and TOML files of one state with Git's hashes, by their paths from the repository's top."""

    identities: Mapping[str, str]
    read: Callable[[Sequence[str]], Iterable[bytes]]


@dataclass(frozen=True, slots=True)
class ChangedSpecs:
    """The specs of two states that must be compiled, by paths from ``top``, and the names of all tools of both.

    ``paths`` are the specs that may differ. ``unproved`` are the same in both states, but are compiled in the head to
    find their errors; ``known`` have no errors. ``texts`` are the texts of the head that have been read, and
    ``plain`` those among them that refer to no other file or tool and whose tools are not compiled yet. ``read`` reads
    specs of the head.
    """

    top: Path
    paths: frozenset[str]
    names: frozenset[str]
    unproved: frozenset[str] = frozenset()
    known: Mapping[str, ErrorFreeSpec] = field(default_factory=dict)
    plain: Mapping[str, ErrorFreeSpec] = field(default_factory=dict)
    texts: Mapping[str, bytes] = field(default_factory=dict)
    read: Callable[[Sequence[str]], Iterable[bytes]] = lambda _: ()

    def for_base(self) -> ChangedSpecs:
        """Return the specs of the base to compile. Unchanged specs are left out: errors of the base do not matter."""
        return replace(self, unproved=frozenset(), texts={})

    def same_names(self, tools: Iterable[str]) -> frozenset[str]:
        """Return the error-free specs with a tool of one of these names: two tools with one name are an error."""
        possible_names = {*tools}
        return frozenset(
            path
            for path, each in self.known.items()
            if path not in self.paths and not possible_names.isdisjoint(each.tools)
        )

    def similar(self, tools: Iterable[SearchWords]) -> frozenset[str]:
        """Return the error-free specs that may have a tool that is similar to one of ``tools``."""
        described = [each for each in tools if each.description or each.effect]
        unread = [path for path in self.known if path not in self.paths] if described else []
        texts = [*zip(unread, map(_words, self.read(unread)), strict=True)]
        found: set[str] = set()
        for each in described:
            ranked = sorted(
                (-max(_share(each.description, text) / _MOST, _share(each.effect, text) / _ALMOST_ALL), path)
                for path, text in texts
            )
            found.update(path for share, path in ranked[:_MAX_SIMILAR] if share <= -1)
        return frozenset(found)


def _share(words: frozenset[str], text: frozenset[str]) -> float:
    """Return the part of the words that a text has; 0 without words."""
    return len(words & text) / len(words) if words else 0.0


def _words(text: bytes) -> frozenset[str]:
    return frozenset(_WORD.findall(text.decode(errors="replace").lower()))


def of_commit(commit: Commit, paths: Sequence[str]) -> Texts:
    """Return the texts of a commit at and under ``paths``, and the project files above."""
    blobs = {
        blob.path: blob
        for blob in commit.blobs([] if "" in paths else [*paths, *above(paths)])
        if blob.mode.startswith("100") and blob.path.lower().endswith(SUFFIXES)
    }
    identities = {path: blob.identity for path, blob in blobs.items()}
    return Texts(identities, lambda chosen: commit.read([blobs[path] for path in chosen]))


def of_working_tree(repository: Repository, paths: Sequence[str], algorithm: Literal["sha1", "sha256"]) -> Texts:
    """Return the texts without Git's filters, which run programs; ``algorithm`` is that of the compared commit."""
    top = str(repository.top)
    places = [os.path.join(top, path) for path in [*paths, *above(paths)]]  # noqa: PTH118  thousands of them
    found = [each for place in places for each in _files(place)]
    texts = {place[len(top) + 1 :]: _read_file(place) for place in found}
    return Texts(
        {path: _git_hash(data, algorithm) for path, data in texts.items()},
        lambda chosen: map(texts.__getitem__, chosen),
    )


def _files(place: str) -> Iterable[str]:
    if Path(place).is_dir():
        return walk(place.rstrip("/"))
    return [place] if Path(place).is_file() else []


def _read_file(place: str) -> bytes:
    """Return the content of a file with as few system calls as possible: there are thousands of files."""
    with FileIO(place) as file:
        return file.readall()


def _git_hash(data: bytes, algorithm: Literal["sha1", "sha256"]) -> str:
    """Return Git's hash of a file's content."""
    return hashlib.new(algorithm, b"blob %d\0%b" % (len(data), data), usedforsecurity=False).hexdigest()


def above(paths: Sequence[str]) -> list[str]:
    """Return the paths where project files for ``paths`` may be."""
    return [str(folder / name) for path in paths for folder in PurePosixPath(path).parents for name in PROJECT_FILES]


def is_project(path: str) -> bool:
    """Return whether the file has the name of a project file."""
    return path.rpartition("/")[2] in PROJECT_FILES


def projects(texts: Texts) -> dict[str, str]:
    """Return Git's hashes of the project files among the texts, by path."""
    return {path: identity for path, identity in texts.identities.items() if is_project(path)}


def select_changed(old: Texts, new: Texts, top: Path, known_specs: Mapping[str, ErrorFreeSpec]) -> ChangedSpecs | None:
    """Return the specs that may differ or are not in ``known_specs``; None if all specs must be compiled."""
    before, after = old.identities, new.identities
    changed = {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}
    if any(is_project(path) for path in changed):
        return None
    known = {
        path: known_specs[path] for path in after if path in known_specs and known_specs[path].identity == after[path]
    }
    unknown = [path for path in after if path not in known]
    texts = dict(zip(unknown, new.read(unknown), strict=True))
    everything = [*texts.values(), *old.read([path for path in before if path in changed])]
    if any(mentions_tools(text) or needs_full_parse(text) for text in everything):
        return None
    if any(refers_to_files(text) for path, text in texts.items() if is_project(path)):
        return None
    referring = {path for path, text in texts.items() if refers_to_files(text)}
    named = {name.decode() for text in everything for name in possible_names(text)}
    plain = {
        path: ErrorFreeSpec(after[path], tuple(sorted({name.decode() for name in possible_names(text)})), ())
        for path, text in texts.items()
        if path not in referring and not is_project(path)
    }
    return ChangedSpecs(
        top,
        frozenset(changed | referring),
        frozenset(named.union(*(each.words for each in known.values()))),
        frozenset(plain.keys() - changed),
        known,
        plain,
        texts,
        new.read,
    )
