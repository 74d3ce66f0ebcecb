"""Checks of descriptions: TC204 (length and content) and TC301 (parameters)."""

from pathlib import Path

import pytest
from check_cases import findings, shell

COMMAND = '{argv: [a, "{{ a }}"]}'


@pytest.mark.parametrize(
    ("parameters", "found"),
    [
        ("{a: {type: string}}", ["tool.yaml:4:14 the parameter 'a' has no description"]),
        ("{a: {type: string, description: ' '}}", ["tool.yaml:4:14 the parameter 'a' has no description"]),
        ("{type: object, properties: {a: {}}, required: [a]}", ["tool.yaml:4:41 the parameter 'a' has no description"]),
        ("{a: {type: string, description: A word}}", []),
        ("{type: object, properties: {a: {$ref: '#/$defs/b'}}, required: [a], $defs: {b: {}}}", []),
    ],
)
def test_missing_parameter_descriptions_are_reported(tmp_path: Path, parameters: str, found: list[str]) -> None:
    assert findings(tmp_path, "TC301", shell(parameters, COMMAND)) == found


@pytest.mark.parametrize(
    ("name", "description", "found"),
    [
        ("web_lookup", "Search for information.", True),
        ("lookup", "Look up information for the user", True),
        ("lookup", "Look up the meaning of a word in the dictionary", False),
        ("list_open_invoices_of_late_customer", "List open invoices of a late customer", False),
    ],
)
def test_description_that_adds_nothing_to_the_name_is_reported(
    tmp_path: Path, name: str, description: str, *, found: bool
) -> None:
    text = f"toolc: 1\nname: {name}\ndescription: {description}\nbackend: {{shell: {{argv: [a]}}}}\n"
    assert findings(tmp_path, "TC204", text) == (
        [f"tool.yaml:3:14 this description adds nothing to the name '{name}'"] * found
    )
