"""TC703: a choice at the root of the parameters."""

from __future__ import annotations

from pathlib import Path

import pytest
from checked import findings, shell

from toolc.compiler.checks import root_choice
from toolc.providers.lowering import REJECTED_AT_ROOT

ARGV = '{argv: [a, {when: x, argv: ["{{ x }}"]}]}'


@pytest.mark.parametrize("keyword", sorted(REJECTED_AT_ROOT - {"const", "enum", "not"}))
def test_the_root(tmp_path: Path, keyword: str) -> None:
    parameters = f"{{type: object, properties: {{x: {{type: string}}}}, {keyword}: [{{required: [x]}}]}}"
    assert findings(tmp_path, root_choice, shell(parameters, ARGV)) == [
        f"tool.yaml:4:61 providers refuse '{keyword}' at the root of the parameters; a model reads it as words"
    ]


def test_the_list_is_the_providers_own() -> None:
    assert root_choice.REFUSED == REJECTED_AT_ROOT


def test_within_a_parameter_it_is_fine(tmp_path: Path) -> None:
    parameters = "{x: {anyOf: [{type: string}, {type: integer}]}}"
    assert findings(tmp_path, root_choice, shell(parameters, ARGV)) == []
