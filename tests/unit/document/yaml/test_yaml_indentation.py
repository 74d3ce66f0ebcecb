"""A value in quotes that continues at the start of a line: libyaml accepts it, YAML requires indentation."""

from __future__ import annotations

import pytest
from places import shown

from toolc.document.yaml.parser import parse_yaml
from toolc.model.diagnostics import Diagnostics
from toolc.model.source import SourceText


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ('k: !!str "a\nb"\n', "2:1-3"),
        ('k: !!str "a\nb"', "2:1-3"),
        ("k: &x 'a\nb'\nc: d\n", "2:1-3"),
        ('k: !!str "a\n\nb"\n', "3:1-3"),
        ('l: 1\nk: !!str "a\nb"\nc: d\n', "3:1-3"),
    ],
)
def test_an_unindented_line_after_a_tag_or_anchor_is_rejected(text: str, place: str) -> None:
    message = "TC001 this line continues the value of line"
    (finding,) = findings(text)
    assert finding.startswith(f"{place} {message}")


@pytest.mark.parametrize("text", ['k: !!str "a\n b"\n', "k: &x 'a\n b'\n", "# a: '\nk: |\n  b\n"])
def test_an_indented_line_is_accepted(text: str) -> None:
    assert findings(text) == []


def findings(text: str) -> list[str]:
    diagnostics = Diagnostics()
    parse_yaml(SourceText("a.yaml", text), diagnostics)
    return shown(diagnostics)
