"""Unified diffs in linear time."""

import difflib
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolc.document.line_diff import unified_diff

_TEXTS = st.lists(st.sampled_from(["a\n", "b\n", "c\n", "d"]), max_size=30)


@given(_TEXTS, _TEXTS)
def test_the_diff_of_a_short_text_is_that_of_difflib(old: list[str], new: list[str]) -> None:
    assert [*unified_diff(old, new)] == [*difflib.unified_diff(old, new)][2:]


@pytest.mark.parametrize("inserted", [0, 1])
def test_the_diff_of_a_long_text_is_correct_and_fast(inserted: int) -> None:
    old = [line for number in range(20_000) for line in (f"a{number % 150}\n", f"- 1_0{number}\n")]
    new = [line for number in range(20_000) for line in (f"a{number % 150}\n", f'- "1_0{number}"\n')]
    new[5:5] = ["b\n"] * inserted
    start = time.process_time()
    lines = [*unified_diff(old, new)]
    assert time.process_time() - start < 20  # difflib takes far longer
    hunks = [line for line in lines if line.startswith("@@")]
    assert hunks == [f"@@ -1,{len(old)} +1,{len(new)} @@\n"]
    assert [line[1:] for line in lines[1:] if line[0] in " -"] == old
    assert [line[1:] for line in lines[1:] if line[0] in " +"] == new


def test_few_changes_of_a_long_text_are_separate_hunks() -> None:
    old = [f"{number}\n" for number in range(2_000)]
    new = [*old]
    new[10] = new[1000] = "new\n"
    assert [line for line in unified_diff(old, new) if line.startswith("@@")] == [
        "@@ -8,7 +8,7 @@\n", "@@ -998,7 +998,7 @@\n",
    ]  # fmt: skip
