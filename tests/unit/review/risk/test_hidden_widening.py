"""Pull requests that hide a new permission: every way to add one is reported.

Each case is two commits, compared as ``toolc diff`` does and with every spec compiled, with the same result.
"""

from pathlib import Path
from typing import Any, TypeAlias

import pytest
from reviews.repositories import Repository
from reviews.reviewing import edited, review_cases

from toolc.review.compare import Difference, compare
from toolc.review.model.state import State
from toolc.review.sources.states import state_of, two_states

File: TypeAlias = str | dict[str, str]
SPECS, CASES = review_cases("hidden-changes")


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES["reported"].values(), ids=CASES["reported"])
def test_hidden_widening_is_reported(repository: Repository, case: dict[str, Any]) -> None:
    assert both_ways(repository, case["base"], case["edits"]) == case["changes"]


@pytest.mark.parametrize("case", CASES["not reported"].values(), ids=CASES["not reported"])
def test_changes_without_effect_are_not_reported(repository: Repository, case: dict[str, Any]) -> None:
    assert both_ways(repository, case["base"], case["edits"]) == []


def both_ways(repository: Repository, base: dict[str, File], edits: dict[str, File]) -> list[str]:
    """Return the changes with only changed specs compiled, and check that compiling all gives the same."""
    repository.commit({path: text_of(file) for path, file in base.items()})
    for path, file in edits.items():
        edit(repository.top / path, text_of(file))
    repository.commit({})
    with two_states("HEAD~1", "HEAD", [Path()]) as (old, new):
        narrow = lines(old, new)
    with state_of("HEAD~1", [Path()]) as old, state_of("HEAD", [Path()]) as new:
        assert narrow == lines(old, new)
    return narrow


def text_of(file: File) -> str:
    """Return the text of a file of a case."""
    if isinstance(file, str):
        return file
    edits = {old: new for old, new in file.items() if old != "spec"}
    return edited(SPECS[file["spec"]], edits)


def edit(place: Path, text: str) -> None:
    """Write a file; ``-> TARGET`` creates a link, and an empty text removes the file."""
    if place.is_file() or place.is_symlink():
        place.unlink()
    if text.startswith("-> "):
        if place.is_dir():
            place.rmdir()
        place.symlink_to(text.removeprefix("-> "))
    elif text:
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")


def lines(old: State, new: State) -> list[str]:
    """Return each change as its tool, rule and grade."""
    for state in (old, new):
        assert not state.diagnostics.has_errors, [str(each) for each in state.diagnostics.sorted()]
    found: Difference = compare(old, new)
    return [f"{name or 'all'}: {each.rule} {each.grade}" for name, each in found.changes]
