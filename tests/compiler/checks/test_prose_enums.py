"""TC303: a closed set of values in words, but no enum."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from checked import findings, messages, shell

from toolc.compiler.checks import prose_enums

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
def test_closed_sets(tmp_path: Path, text: str, values: str) -> None:
    assert messages(tmp_path, prose_enums, described(text)) == [f"'a' is a closed set in words only: {values}"]


@pytest.mark.parametrize(
    "text",
    [
        "One of the project's branches",
        "Must be a file or folder.",
        "Can be slow or fast.",
        "Any of these words, in any order",
        "Format, e.g. one of the names below",
        "One of: json, xml, etc.",
        "One of 'a', 'b' or any other name",
        "Either a name or an address",
        "One of red, green, or another colour",
        "The name",
    ],
)
def test_open_sets_and_other_sentences(tmp_path: Path, text: str) -> None:
    assert findings(tmp_path, prose_enums, described(text)) == []


@pytest.mark.parametrize(
    ("schema", "count"),
    [
        ("type: string", 1),
        ("type: [string, 'null']", 1),
        ("type: array, items: {type: string}", 1),
        ("type: string, enum: [x, y]", 0),
        ("type: string, pattern: '^(x|y)$'", 0),
        ("type: array, items: {type: string, enum: [x, y]}", 0),
        ("type: integer", 0),
    ],
)
def test_only_where_any_string_may_come(tmp_path: Path, schema: str, count: int) -> None:
    assert len(findings(tmp_path, prose_enums, described("One of: x, y", schema))) == count


def test_the_finding_is_on_the_values(tmp_path: Path) -> None:
    assert findings(tmp_path, prose_enums, described("One of: x, y"))[0].startswith("tool.yaml:4:54 ")
