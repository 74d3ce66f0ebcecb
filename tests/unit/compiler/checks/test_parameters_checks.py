"""Checks of parameters: TC303 (enums), TC308 (bounds), TC311 (objects) and TC406 (unused parameters)."""

import json
from pathlib import Path

import pytest
from check_cases import HEAD, findings, messages, numbers, shell

COMMAND = '{argv: [a, "{{ a }}"]}'


def described(text: str, schema: str = "type: string") -> str:
    return shell(f"{{a: {{{schema}, description: {json.dumps(text)}}}}}", COMMAND)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("State, one of: open, closed, all", "open, closed, all"),
        ("One of open, closed or all.", "open, closed or all"),
        ("Sort order; must be 'asc' or 'desc'.", "'asc' or 'desc'"),
        ('Either "json" or "xml"', '"json" or "xml"'),
        ("Level (one of `low`, `medium`, `high`)", "`low`, `medium`, `high`"),
        ("Allowed values: a | b | c", "a | b | c"),
        ("Valid values are: GET, POST; nothing else", "GET, POST"),
        ("Options: fast (no checks), safe (all checks)", "fast (no checks), safe (all checks)"),
    ],
)
def test_closed_sets_of_values_are_reported(tmp_path: Path, text: str, values: str) -> None:
    assert messages(tmp_path, "TC303", described(text)) == [
        f"the allowed values of 'a' are only in its description: {values}"
    ]


@pytest.mark.parametrize(
    "text",
    [
        "One of the project's branches", "Must be a file or folder.", "Can be slow or fast.",
        "Any of these words, in any order", "Format, e.g. one of the names below", "One of: json, xml, etc.",
        "One of 'a', 'b' or any other name", "Either a name or an address", "One of red, green, or another colour",
        "The name",
    ],
)  # fmt: skip
def test_open_sets_and_other_sentences_are_not_reported(tmp_path: Path, text: str) -> None:
    assert findings(tmp_path, "TC303", described(text)) == []


@pytest.mark.parametrize(
    ("schema", "count"),
    [
        ("type: string", 1), ("type: [string, 'null']", 1), ("type: array, items: {type: string}", 1),
        ("type: string, enum: [x, y]", 0), ("type: string, pattern: '^(x|y)$'", 0),
        ("type: array, items: {type: string, enum: [x, y]}", 0), ("type: integer", 0),
    ],
)  # fmt: skip
def test_only_unrestricted_strings_are_checked(tmp_path: Path, schema: str, count: int) -> None:
    assert len(findings(tmp_path, "TC303", described("One of: x, y", schema))) == count


def test_the_finding_is_on_the_values(tmp_path: Path) -> None:
    assert findings(tmp_path, "TC303", described("One of: x, y"))[0].startswith("tool.yaml:4:54 ")


@pytest.mark.parametrize(
    ("schema", "found"),
    [
        ("{type: object}", ["tool.yaml:4:24 'a' is an object without declared properties"]),
        ("{type: [object, 'null']}", ["tool.yaml:4:24 'a' is an object without declared properties"]),
        (
            "{type: array, items: {type: object}}",
            ["tool.yaml:4:45 each item of 'a' is an object without declared properties"],
        ),
        ("{type: object, properties: {b: {}}}", []),
        ("{type: object, additionalProperties: true}", []),
        ("{type: object, additionalProperties: {type: string}}", []),
        ("{type: object, patternProperties: {'^x': {}}}", []),
        ("{type: array, items: {type: string}}", []),
        ("{}", []),
    ],
)  # fmt: skip
def test_undescribed_objects_are_reported(tmp_path: Path, schema: str, found: list[str]) -> None:
    assert findings(tmp_path, "TC311", shell(f"{{a: {schema}}}", '{argv: [a, --, "{{ a }}"]}')) == found


@pytest.mark.parametrize(
    "schema", ["type: string", "type: array, items: {type: string}", "type: integer, minimum: 1", "type: number"]
)
def test_unbounded_parameters_are_reported(tmp_path: Path, schema: str) -> None:
    text = shell(f"{{a: {{{schema}}}}}", '{argv: [a, "{{ a }}"]}')
    assert messages(tmp_path, "TC308", text) == ["the parameter 'a' has no bound"]


@pytest.mark.parametrize(
    "schema",
    [
        "type: string, maxLength: 5", "type: string, enum: [a]", "type: string, pattern: '^a$'",
        "type: string, format: date", "type: array, items: {type: string}, maxItems: 3",
        "type: integer, minimum: 1, maximum: 2", "type: number, exclusiveMinimum: 0, exclusiveMaximum: 2",
        "type: boolean",
    ],
)  # fmt: skip
def test_bounded_parameters_are_not_reported(tmp_path: Path, schema: str) -> None:
    text = shell(f"{{a: {{{schema}}}}}", '{argv: [a, --, "{{ a }}"]}')
    assert findings(tmp_path, "TC308", text) == []


def test_python_functions_are_not_checked(tmp_path: Path) -> None:
    text = f"{HEAD}parameters: {{a: {{type: string}}}}\nbackend: {{python: {{code: 'def hello(a): return a'}}}}\n"
    assert findings(tmp_path, "TC308", text) == []


@pytest.mark.parametrize(
    ("shell", "codes"),
    [
        ("{argv: [a]}", ["TC406"]), ('{argv: [a, "{{ x }}"]}', []), ("{argv: [a, {when: x, argv: [b]}]}", []),
        ('{argv: [a], stdin: "{{ x }}"}', []), ('{script: "echo $x"}', ["TC414"]),
        ('{script: "echo $ARG_xy"}', ["TC406"]), ('{script: "echo \\"${ARG_x}\\" | cat"}', []),
    ],
)  # fmt: skip
def test_unused_parameters_are_reported(tmp_path: Path, shell: str, codes: list[str]) -> None:
    assert numbers(tmp_path, "{x: {type: string}}", shell) == codes
