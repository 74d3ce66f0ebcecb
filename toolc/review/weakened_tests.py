"""Report tests of a tool that were removed or weakened (RSK18)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import asdict
from typing import Final

from toolc.model.json_schema import JsonValue
from toolc.model.spec.tool import Expect, Test
from toolc.model.text import shorten
from toolc.review.model.change import Grade, ToolChange
from toolc.review.model.pairing import ToolPair
from toolc.review.model.schema_node import is_same
from toolc.review.model.state import State
from toolc.validation.pattern_speed import compile_python

RULE: Final = "RSK18"

_LONGEST: Final = 80
"""The maximum length of a call in a message, in characters, so that it stays on one line."""


def weakened_tests(pair: ToolPair, old: State, new: State) -> Iterator[ToolChange]:
    """Yield a change for each test that is missing from the new state, or that expects less there.

    If the effect of a call also changed, the change is more severe, because the test may have been removed when it
    failed.
    """
    if pair.old is None or pair.new is None or pair.old.spec.tests == pair.new.spec.tests:
        return
    left = [*pair.new.spec.tests]
    lost: list[tuple[int, Test]] = []
    for index, test in enumerate(pair.old.spec.tests):
        kept = next((each for each in left if _is_same_call(test, each) and _keeps(test.expect, each.expect)), None)
        if kept is None:
            lost.append((index, test))
        else:
            left.remove(kept)
    before, after = old.digests(pair.old.spec.name).effect, new.digests(pair.new.spec.name).effect
    grade: Grade = "low" if before == after else "medium"
    for index, test in lost:
        call = shorten(json.dumps(test.args, ensure_ascii=False), _LONGEST)
        weaker = next((each for each in left if _is_same_call(test, each)), None)
        if weaker:
            left.remove(weaker)
        route = ("tests", pair.new.spec.tests.index(weaker)) if weaker else ("tests",)
        yield ToolChange(
            rule=RULE, grade=grade, path=("tests", index),
            message=f"a test {'expects less' if weaker else 'was removed'}: the call with {call}",
            before=_text(test), after=_text(weaker) if weaker else None, old=pair.old.span("tests", index),
            new=pair.new.span(*route),
        )  # fmt: skip


def _is_same_call(old: Test, new: Test) -> bool:
    return is_same(old.args, new.args) and (old.files, old.caller) == (new.files, new.caller)


def _keeps(old: Expect, new: Expect) -> bool:
    """Return whether ``new`` expects everything that ``old`` expects."""
    return (
        old.error == new.error
        and old.text in {None, new.text}
        and (old.matches in {None, new.matches} or (new.text is not None and _matches(old.matches, new.text)))
        and (old.json is None or (new.json is not None and _contains(new.json[0], old.json[0])))
        and (old.structured is None or (new.structured is not None and is_same(old.structured[0], new.structured[0])))
        and set(old.absent) <= set(new.absent)
        and all(each in new.files for each in old.files)
        and old.changes in (None, new.changes)
        and old.network in (None, new.network)
        and old.connections in (None, new.connections)
    )


def _matches(pattern: str | None, text: str) -> bool:
    try:
        return pattern is not None and compile_python(pattern).search(text) is not None
    except re.error:
        return False


def _contains(whole: JsonValue, part: JsonValue) -> bool:
    """Return whether an expectation of JSON contains everything that another one contains."""
    if isinstance(whole, dict) and isinstance(part, dict):
        return all(key in whole and _contains(whole[key], value) for key, value in part.items())
    return is_same(whole, part)


def _text(test: Test) -> str:
    """Return a test as JSON, without the fields that it does not set."""
    values = asdict(test)
    values["expect"] = {key: value for key, value in values["expect"].items() if value not in (None, ())}
    return json.dumps({key: value for key, value in values.items() if value}, ensure_ascii=False, default=str)
