"""Specs that are known to have no errors, so that a comparison need not compile what is the same in both states.

A head with errors is refused, also where the change did not bring them. To be sure of a spec that did not change
takes compiling it once: then its text is known to be without errors, and what its tools are called, in the user's
cache folder. What cannot be read from there is not known, and is compiled again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from toolc.compiler.cache.answers import versions
from toolc.compiler.cache.file import cache_folder, digest, load, save

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
