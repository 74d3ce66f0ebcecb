"""Expressions that are compiled at their first use."""

import re

import pytest

from toolc.model.text import lazy_re


def test_an_expression_is_compiled_when_it_is_first_used(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: list[str] = []
    compile_now = re.compile

    def recorded(text: str) -> re.Pattern[str]:
        compiled.append(text)
        return compile_now(text)

    monkeypatch.setattr(re, "compile", recorded)
    pattern = lazy_re(r"(?i)b+")
    assert compiled == []
    assert pattern.search("aBb") is not None
    assert pattern.sub("x", "abb") == "ax"
    assert pattern.fullmatch("a") is None
    assert pattern.pattern == "(?i)b+"
    assert compiled[0] == "(?i)b+"
