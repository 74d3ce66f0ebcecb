"""TC301: a parameter without a description."""

from __future__ import annotations

from pathlib import Path

import pytest
from checked import findings, shell

from toolc.compiler.checks import parameter_descriptions

COMMAND = '{argv: [a, "{{ a }}"]}'


@pytest.mark.parametrize(
    ("parameters", "found"),
    [
        ("{a: {type: string}}", ["tool.yaml:4:14 the parameter 'a' has no description"]),
        ("{a: {type: string, description: ' '}}", ["tool.yaml:4:14 the parameter 'a' has no description"]),
        (
            "{type: object, properties: {a: {}}, required: [a]}",
            ["tool.yaml:4:41 the parameter 'a' has no description"],
        ),
        ("{a: {type: string, description: A word}}", []),
        ("{type: object, properties: {a: {$ref: '#/$defs/b'}}, required: [a], $defs: {b: {}}}", []),
    ],
)
def test_parameters(tmp_path: Path, parameters: str, found: list[str]) -> None:
    assert findings(tmp_path, parameter_descriptions, shell(parameters, COMMAND)) == found
