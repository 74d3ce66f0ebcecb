"""Generated pairs of schemas: the verdict is compared with a search that is independent of the code under test."""

import os
import random
from typing import Final, Literal

import pytest
from reviews.schema_pairs import changed, pair, schema, separating

from toolc.model.json_schema import JsonObject
from toolc.review.contract.verdicts import verdicts
from toolc.validation.validate import validation_errors

PAIRS: Final = int(os.environ.get("TOOLC_SCHEMA_PAIRS", "120"))
"""How many pairs are compared. ``TOOLC_SCHEMA_PAIRS=20000`` compares more."""


@pytest.mark.parametrize(
    "start", [0, 30, *(pytest.param(each, marks=pytest.mark.integrations) for each in range(60, PAIRS, 30))]
)
def test_the_verdict_agrees_with_a_search_on_both_sides(start: int) -> None:
    unproved = 0
    for seed in range(start, start + 30):
        old, new = pair(seed)
        sides: tuple[tuple[Literal["input", "output"], JsonObject, JsonObject], ...] = (
            ("input", old, new), ("output", new, old),
        )  # fmt: skip
        for side, accepts, refuses in sides:
            found = verdicts(old, new, side)
            is_breaking = any(each.grade == "breaking" for each in found)
            for each in found:
                if each.witness:
                    assert each.grade == "breaking", (seed, side)
                    assert not validation_errors(accepts, each.witness.value), (seed, side)
                    assert validation_errors(refuses, each.witness.value), (seed, side)
            if not is_breaking:
                assert separating(seed, accepts, refuses) == [], (seed, side)
            unproved += is_breaking and not any(each.witness for each in found)
    assert unproved <= 3


@pytest.mark.parametrize("seed", range(40))
def test_schemas_that_mean_the_same_have_no_breaking_change(seed: int) -> None:
    rng = random.Random(seed)
    old = schema(rng)
    if not isinstance(old, dict):
        return
    same: list[JsonObject] = [
        {"allOf": [old]}, {"anyOf": [old, old]}, {"oneOf": [old]}, {"not": {"not": old}}, old | {"description": "D."},
        {"$ref": "#/$defs/it", "$defs": {"it": old}}, dict(reversed(old.items())), {"allOf": [old, True]},
        {"if": True, "then": old},
    ]  # fmt: skip
    for new in same:
        for side in ("input", "output"):
            unproved = [each.no_witness for each in verdicts(old, new, side) if each.grade == "breaking"]
            assert not unproved, (new, side)


def test_the_generator_makes_changes_that_refuse_and_changes_that_do_not() -> None:
    """A generator of pairs without a difference would prove nothing."""
    narrower = sum(bool(separating(seed, *pair(seed))) for seed in range(60))
    assert 6 <= narrower <= 40
    rng = random.Random(1)
    assert any(changed(rng, {"type": "string"}) != {"type": "string"} for _ in range(5))
