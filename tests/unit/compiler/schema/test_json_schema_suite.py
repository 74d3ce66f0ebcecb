"""The official JSON Schema test suite: accepted schemas have their standard meaning."""

import json
from typing import Any, Final

import pytest
from project.paths import DATA

from toolc.compiler.schema.check_schema import check_instance, check_schema
from toolc.document.map_reader import Findings
from toolc.document.nodes import Mapping, Node
from toolc.document.yaml.yaml_parser import parse_yaml
from toolc.model import codes
from toolc.model.diagnostics import Diagnostics
from toolc.model.json_schema import Schema
from toolc.model.source import SourceText
from toolc.validation.validate import SchemaValidator

GROUPS: Final[list[dict[str, Any]]] = json.loads((DATA / "json-schema-test-suite.json").read_text(encoding="utf-8"))

# What format 1 does not take, by the code of the finding, and how many groups of the suite have it: references
# and identities beyond the schema itself, defaults that are invalid for their own schema, an integer beyond 2^53.
REFUSED: Final = {"TC011": 1, "TC105": 1, "TC304": 3, "TC316": 62}


def inside(schema: Any) -> Any:
    """Return the schema as that of a parameter, with references and the dialect adapted."""
    if isinstance(schema, list):
        return [inside(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: f"#/properties/a{value[1:]}" if _is_pointer(key, value) else inside(value)
        for key, value in schema.items()
        if not (key == "$schema" and isinstance(value, str))
    }


def _is_pointer(key: str, value: Any) -> bool:
    return key == "$ref" and isinstance(value, str) and (value == "#" or value.startswith("#/"))


def node_of(value: Any, diagnostics: Diagnostics) -> tuple[Node | None, Findings]:
    source = SourceText("a.yaml", json.dumps({"value": value}, ensure_ascii=False))
    root = parse_yaml(source, diagnostics)
    node = root.get("value") if isinstance(root, Mapping) and not diagnostics.has_errors else None
    return node, Findings(source, diagnostics)


def checked(schema: Any) -> tuple[Schema | None, str]:
    """Return the schema, or None and the code of the error."""
    diagnostics = Diagnostics()
    parameters = {"type": "object", "properties": {"a": inside(schema)}, "required": ["a"]}
    node, findings = node_of(parameters, diagnostics)
    found = check_schema(node, findings) if isinstance(node, Mapping) else None
    errors = [each.code.number for each in diagnostics.sorted() if each.is_error]
    return (None, errors[0]) if errors else (found, "")


def agrees(schema: Schema, data: Any) -> bool:
    diagnostics = Diagnostics()
    node, findings = node_of({"a": data}, diagnostics)
    assert node is not None
    check_instance(node, SchemaValidator(schema.value), "the example", codes.BAD_VALUE, findings)
    return not diagnostics.has_errors


@pytest.mark.slow
@pytest.mark.parametrize("file", sorted({group["file"] for group in GROUPS}))
def test_values_are_validated_as_in_the_suite(file: str) -> None:
    for group in GROUPS:
        if file == "format":
            continue  # asserted here, an annotation there: see tests/unit/validation/test_schema_formats.py
        # A naive rewriting of references is just what this group is about.
        if group["file"] != file or "naive replacement" in group["description"]:
            continue
        schema, _ = checked(group["schema"])
        for test in group["tests"]:
            same = schema is None or agrees(schema, test["data"]) == test["valid"]
            assert same, f"{group['description']}: {test['description']}"


@pytest.mark.slow
def test_schemas_are_rejected_for_known_reasons() -> None:
    reasons = [code for _, code in (checked(group["schema"]) for group in GROUPS) if code]

    assert {code: reasons.count(code) for code in sorted(set(reasons))} == REFUSED
