"""TC308: a parameter without a bound that reaches a command."""

from __future__ import annotations

from pathlib import Path

import pytest
from checked import HEAD, findings, messages, shell

from toolc.compiler.checks import unbounded_parameters


@pytest.mark.parametrize(
    "schema", ["type: string", "type: array, items: {type: string}", "type: integer, minimum: 1", "type: number"]
)
def test_without_a_bound(tmp_path: Path, schema: str) -> None:
    text = shell(f"{{a: {{{schema}}}}}", '{argv: [a, "{{ a }}"]}')
    assert messages(tmp_path, unbounded_parameters, text) == ["nothing bounds the parameter 'a'"]


@pytest.mark.parametrize(
    "schema",
    [
        "type: string, maxLength: 5",
        "type: string, enum: [a]",
        "type: string, pattern: '^a$'",
        "type: string, format: date",
        "type: array, items: {type: string}, maxItems: 3",
        "type: integer, minimum: 1, maximum: 2",
        "type: number, exclusiveMinimum: 0, exclusiveMaximum: 2",
        "type: boolean",
    ],
)
def test_with_a_bound(tmp_path: Path, schema: str) -> None:
    text = shell(f"{{a: {{{schema}}}}}", '{argv: [a, --, "{{ a }}"]}')
    assert findings(tmp_path, unbounded_parameters, text) == []


def test_a_function_looks_after_its_own(tmp_path: Path) -> None:
    text = f"{HEAD}parameters: {{a: {{type: string}}}}\nbackend: {{python: {{code: 'def hello(a): return a'}}}}\n"
    assert findings(tmp_path, unbounded_parameters, text) == []
