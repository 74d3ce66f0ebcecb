"""TC701: keywords of JSON Schema that Gemini does not take."""

from __future__ import annotations

from pathlib import Path

import pytest
from checked import findings, shell

from toolc.compiler import codes
from toolc.compiler.checks import gemini_keywords
from toolc.providers.gemini_schema import lower_schema
from toolc.providers.lowering import LossLog


def test_each_keyword_at_its_place(tmp_path: Path) -> None:
    parameters = "{x: {type: array, items: {type: string, pattern: '^a', minLength: 1}, uniqueItems: true}}"
    text = shell(parameters, '{argv: [a, --, "{{ x }}"]}')
    assert findings(tmp_path, gemini_keywords, text) == [
        "tool.yaml:4:53 Gemini does not take 'pattern': its models read it as words",
        "tool.yaml:4:68 Gemini does not take 'minLength': its models read it as words",
        "tool.yaml:4:83 Gemini does not take 'uniqueItems': its models read it as words",
    ]


def test_what_gemini_takes(tmp_path: Path) -> None:
    parameters = "{x: {type: integer, minimum: 1, maximum: 9}, pattern: {enum: [a]}}"
    text = shell(parameters, '{argv: [a, --, "{{ x }}", "{{ pattern }}"]}')
    assert findings(tmp_path, gemini_keywords, text) == []


@pytest.mark.parametrize("keyword", sorted(gemini_keywords.DROPPED))
def test_the_provider_loses_it(keyword: str) -> None:
    log = LossLog("tool")
    lower_schema({"type": "object", "properties": {"x": {keyword: 1}}}, log)
    assert [loss.pointer for loss in log.found] == [f"/parameters/properties/x/{keyword}"]


def test_it_is_off() -> None:
    assert not codes.GEMINI_KEYWORD.enabled
