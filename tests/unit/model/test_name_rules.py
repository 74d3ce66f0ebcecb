"""The rules for names in specs."""

import re

import pytest

from toolc.model.names import IDENTIFIER, TOOL_NAME

RULES = pytest.mark.parametrize("rule", [TOOL_NAME, IDENTIFIER], ids=["tool", "identifier"])


@RULES
@pytest.mark.parametrize("name", ["a", "_", "Aa_9", "a" * 64])
def test_names_have_1_to_64_letters_digits_and_underscores(rule: re.Pattern[str], name: str) -> None:
    assert rule.fullmatch(name)


@RULES
@pytest.mark.parametrize("name", ["", "9a", "-a", "a.b", "a b", "é", "a\n", "a" * 65])
def test_other_names_are_refused(rule: re.Pattern[str], name: str) -> None:
    assert not rule.fullmatch(name)


def test_only_the_name_of_a_tool_can_contain_a_hyphen() -> None:
    assert TOOL_NAME.fullmatch("a-b")
    assert not IDENTIFIER.fullmatch("a-b")
