"""TC702: parameters that OpenAI's strict mode cannot say as they are."""

from __future__ import annotations

from pathlib import Path

import pytest
from checked import findings, shell

from toolc.compiler.checks import strict_mode

ARGV = '{argv: [a, {when: x, argv: ["{{ x }}"]}]}'


def spec(parameters: str, providers: str) -> str:
    return shell(parameters, ARGV, f"providers: {providers}\n")


def test_an_optional_parameter(tmp_path: Path) -> None:
    text = spec("{x: {type: string, optional: true}}", "{openai_chat: {strict: true}}")
    assert findings(tmp_path, strict_mode, text) == [
        "tool.yaml:4:14 'x' is optional, and strict mode requires every parameter"
    ]


def test_an_open_object(tmp_path: Path) -> None:
    text = spec("{x: {type: object, properties: {}}}", "{openai_responses: {strict: true}}")
    assert findings(tmp_path, strict_mode, text) == [
        "tool.yaml:4:18 this object is open, and strict mode wants every object closed"
    ]


@pytest.mark.parametrize("providers", ["{}", "{openai_chat: {strict: false}}", "{anthropic: {strict: true}}"])
def test_only_where_it_is_asked_for(tmp_path: Path, providers: str) -> None:
    assert findings(tmp_path, strict_mode, spec("{x: {type: string, optional: true}}", providers)) == []


def test_what_strict_mode_can_say(tmp_path: Path) -> None:
    closed = "{x: {type: object, properties: {}, additionalProperties: false}}"
    assert findings(tmp_path, strict_mode, spec(closed, "{openai_chat: {strict: true}}")) == []
