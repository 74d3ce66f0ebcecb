"""TC311: an object parameter of which nothing is said."""

from __future__ import annotations

from pathlib import Path

import pytest
from checked import findings, shell

from toolc.compiler.checks import free_form_objects


@pytest.mark.parametrize(
    ("schema", "found"),
    [
        ("{type: object}", ["tool.yaml:4:24 'a' is an object of which nothing is said"]),
        ("{type: [object, 'null']}", ["tool.yaml:4:24 'a' is an object of which nothing is said"]),
        (
            "{type: array, items: {type: object}}",
            ["tool.yaml:4:45 each item of 'a' is an object of which nothing is said"],
        ),
        ("{type: object, properties: {b: {}}}", []),
        ("{type: object, additionalProperties: true}", []),
        ("{type: object, additionalProperties: {type: string}}", []),
        ("{type: object, patternProperties: {'^x': {}}}", []),
        ("{type: array, items: {type: string}}", []),
        ("{}", []),
    ],
)  # fmt: skip
def test_objects(tmp_path: Path, schema: str, found: list[str]) -> None:
    assert findings(tmp_path, free_form_objects, shell(f"{{a: {schema}}}", '{argv: [a, --, "{{ a }}"]}')) == found
