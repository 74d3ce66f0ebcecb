"""Schemas of older drafts are accepted if they mean the same in 2020-12."""

from pathlib import Path

import pytest

from toolc.compiler.pipeline.compile import compile_specs
from toolc.model.json_schema import JsonObject

DRAFTS = {
    "06": "http://json-schema.org/draft-06/schema#",
    "07": "http://json-schema.org/draft-07/schema#",
    "2019": "https://json-schema.org/draft/2019-09/schema",
    "2020": "https://json-schema.org/draft/2020-12/schema",
}
HEAD = """\
toolc: 1
name: look
description: Look at one thing and say what it is.
backend: {plugin: {command: [look]}}
parameters:
"""


def compiled(tmp_path: Path, draft: str, *lines: str) -> tuple[JsonObject, list[str]]:
    """Return the schema and the findings of these lines."""
    schema = ["type: object", f"$schema: {draft}", *lines]
    (tmp_path / "t.yaml").write_text(HEAD + "".join(f"  {line}\n" for line in schema), encoding="utf-8")
    found = compile_specs([tmp_path / "t.yaml"])
    findings = [
        f"{each.span.start.line - 7}:{each.span.start.column} {each.code.number} {each.message}"
        for each in found.diagnostics.sorted()
        if each.is_error
    ]
    return (found.tools[0].parameters.value if found.tools else {}), findings


@pytest.mark.parametrize("draft", DRAFTS.values())
def test_keywords_common_to_all_drafts_are_converted_to_2020_12(tmp_path: Path, draft: str) -> None:
    schema, findings = compiled(
        tmp_path,
        draft,
        "properties:",
        "  one: {$ref: '#/definitions/name', description: A name, default: Ada}",
        "  two: {type: array, items: {$ref: '#/definitions/name'}, contains: {const: x}}",
        "  three: {const: {$schema: kept, definitions: kept}}",
        "definitions:",
        "  name: {type: string, minLength: 1}",
    )
    assert findings == []
    assert schema == {
        "type": "object",
        "properties": {
            "one": {"$ref": "#/$defs/name", "description": "A name", "default": "Ada"},
            "two": {"type": "array", "items": {"$ref": "#/$defs/name"}, "contains": {"const": "x"}},
            "three": {"const": {"$schema": "kept", "definitions": "kept"}},
        },
        "$defs": {"name": {"type": "string", "minLength": 1}},
        "additionalProperties": False,
    }


def test_definitions_that_cannot_be_renamed_stay(tmp_path: Path) -> None:
    lines = ("properties: {a: {$ref: '#/definitions/a'}}", "definitions: {a: {}}", "$defs: {a: {type: string}}")
    schema, findings = compiled(tmp_path, DRAFTS["07"], *lines)
    assert findings == []
    assert schema["properties"] == {"a": {"$ref": "#/definitions/a"}}


@pytest.mark.parametrize(
    ("draft", "line", "findings"),
    [
        ("06", "properties: {a: {if: {minimum: 1}}}", "1:20 TC704 'if' has no effect in draft-06"),
        ("07", "properties: {a: {dependentRequired: {}}}", "1:20 TC704 'dependentRequired' has no effect in draft-07"),
        ("07", "properties: {a: {prefixItems: [{}]}}", "1:20 TC704 'prefixItems' has no effect in draft-07"),
        (
            "07",
            "properties: {a: {type: string, $ref: '#/properties/b'}, b: {}}",
            "1:20 TC704 'type' next to '$ref' has no effect in draft-07",
        ),
        ("2019", "properties: {a: {prefixItems: [{}]}}", "1:20 TC704 'prefixItems' has no effect in 2019-09"),
        (
            "2019",
            "properties: {a: {contains: {}, unevaluatedItems: false}}",
            "1:20 TC704 'contains' evaluates no item in 2019-09",
        ),
        ("07", "properties: {a: {items: [{}]}}", "1:20 TC704 'items' is one schema, for every item"),
        ("2019", "properties: {a: {items: [{}]}}", "1:20 TC704 'items' is one schema, for every item"),
        ("07", "properties: {a: {dependencies: {}}}", "1:20 TC101 JSON Schema 2020-12 has no keyword 'dependencies'"),
    ],
)
def test_keywords_with_another_meaning_are_rejected(tmp_path: Path, draft: str, line: str, findings: str) -> None:
    _, found = compiled(tmp_path, DRAFTS[draft], line)
    assert [each[: len(findings)] for each in found] == [findings]


def test_unknown_drafts_are_rejected(tmp_path: Path) -> None:
    _, found = compiled(tmp_path, "http://json-schema.org/draft-04/schema#", "properties: {}")
    assert found == ["0:12 TC704 parameters are JSON Schema 2020-12, but this is another dialect"]


def test_subschema_with_its_own_dialect(tmp_path: Path) -> None:
    line = f"properties: {{a: {{$schema: '{DRAFTS['07']}', prefixItems: [{{}}]}}, b: {{prefixItems: [{{}}]}}}}"
    _, found = compiled(tmp_path, DRAFTS["2020"], line)
    assert len(found) == 1
    assert "TC704 'prefixItems' has no effect in draft-07, the dialect that $schema names" in found[0]
