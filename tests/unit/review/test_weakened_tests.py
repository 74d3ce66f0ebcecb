"""Tests of a tool that were removed or expect less (RSK18)."""

from pathlib import Path

import pytest
from reviews.reviewing import PLAIN, one

LAMP = "{args: {name: lamp}, expect: {text: lamp}}"
DOOR = "{args: {name: door}, expect: {matches: do+r}}"
DATA = "{args: {name: lamp}, expect: {json: {a: 1, b: {c: 2}}}}"


def weakened(folder: Path, before: str, after: str, *, effect: str = "echo") -> list[str]:
    new = f"{PLAIN.replace('echo', effect)}tests: [{after}]\n"
    found = one(folder, f"{PLAIN}tests: [{before}]\n", new)
    return [line for line in found if line.startswith("RSK18")]


@pytest.mark.parametrize(
    ("before", "after", "what"),
    [
        (LAMP, "", "was removed"),
        (f"{LAMP}, {DOOR}", LAMP, "was removed"),
        (f"{LAMP}, {LAMP}", LAMP, "was removed"),
        (LAMP, "{args: {name: lamp}}", "expects less"),
        (LAMP, "{args: {name: lamp}, expect: {matches: l}}", "expects less"),
        (DOOR, "{args: {name: door}, expect: {matches: .}}", "expects less"),
        (DATA, "{args: {name: lamp}, expect: {json: {a: 1}}}", "expects less"),
        (DATA, "{args: {name: lamp}, expect: {json: {a: 1, b: {c: 3}}}}", "expects less"),
        (LAMP, "{args: {name: other}, expect: {text: lamp}}", "was removed"),
    ],
)
def test_a_weaker_test_is_reported(tmp_path: Path, before: str, after: str, what: str) -> None:
    (low,) = weakened(tmp_path / "low", before, after)
    assert low.startswith(f"RSK18 low: a test {what}: the call with")
    (medium,) = weakened(tmp_path / "medium", before, after, effect="printf")
    assert medium.startswith(f"RSK18 medium: a test {what}")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (LAMP, f"{DOOR}, {LAMP}"),
        (f"{LAMP}, {DOOR}", f"{DOOR}, {LAMP}"),
        ("{args: {name: lamp}}", LAMP),
        (DOOR, "{args: {name: door}, expect: {text: door}}"),
        (DATA, "{args: {name: lamp}, expect: {json: {a: 1, b: {c: 2, d: 3}}}}"),
    ],
)
def test_a_stricter_test_is_not_reported(tmp_path: Path, before: str, after: str) -> None:
    assert weakened(tmp_path, before, after, effect="printf") == []
