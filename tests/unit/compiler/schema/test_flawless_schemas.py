"""A schema that the quick test accepts has no findings in the full check."""

import json
from pathlib import Path
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolc.compiler.schema import check_schema
from toolc.compiler.schema.check_schema import is_flawless
from toolc.document.loader import load_data
from toolc.document.map_reader import Findings
from toolc.model.diagnostics import Diagnostic, Diagnostics
from toolc.model.json_schema import JsonObject, JsonValue, Schema

_CHOICES: list[JsonValue] = [None, True, 1, 1.5, "a", [], ["a", 1.5], {}]
_VALUES = st.sampled_from(_CHOICES)
_LIKELY: dict[str, st.SearchStrategy[JsonValue]] = {
    "$comment": st.just("a"),
    "$ref": st.just("#"),
    "$schema": st.just("http://json-schema.org/draft-07/schema#"),
    "const": _VALUES,
    "default": _VALUES,
    "description": st.just("a"),
    "enum": st.lists(_VALUES, max_size=2),
    "minimum": st.sampled_from([0, 2, "2"]),
    "nullable": st.booleans(),
    "pattern": st.sampled_from(["^a+$", "^(a+)+$", "(?P<name>a)", "[", "\\p{L}"]),
    "type": st.sampled_from(["string", "integer", "array", "str"]),
}


def _schemas(inner: st.SearchStrategy[JsonValue]) -> st.SearchStrategy[JsonObject]:
    named: st.SearchStrategy[JsonValue] = st.dictionaries(st.sampled_from(["a", "b"]), inner, max_size=2)
    holding: dict[str, st.SearchStrategy[JsonValue]] = {
        "properties": named,
        "items": inner,
        "anyOf": st.lists(inner, max_size=2),
        "definitions": named,
    }
    return st.fixed_dictionaries({}, optional=holding | _LIKELY)


_SCHEMAS: st.SearchStrategy[JsonObject] = st.recursive(st.fixed_dictionaries({}, optional=_LIKELY), _schemas)


def judged(schema: JsonObject) -> tuple[Schema | None, tuple[Diagnostic, ...]]:
    """Return the schema and the findings of a schema."""
    diagnostics = Diagnostics()
    document = load_data(json.dumps(schema).encode(), Path("a.yaml"), "a.yaml", diagnostics)
    assert document
    return check_schema.check_schema(document.root, Findings(document.source, diagnostics)), diagnostics.sorted()


@pytest.mark.slow
@settings(max_examples=50)
@given(_SCHEMAS)
def test_the_quick_test_hides_no_finding(schema: JsonObject) -> None:
    quickly = judged(schema)
    with patch.object(check_schema, "is_flawless", return_value=False):
        assert quickly == judged(schema)


def test_common_schemas_are_flawless() -> None:
    assert is_flawless(
        {
            "type": "object",
            "properties": {
                "id": {"type": "string", "pattern": "^[A-Z]-[0-9]+$"},
                "many": {"type": "array", "items": {"type": "integer", "minimum": 1}, "default": []},
                "size": {"enum": ["s", "l"], "default": "s"},
            },
            "required": ["id"],
            "additionalProperties": False,
        }
    )


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "array"},
        {"pattern": "["},
        {"pattern": "^(a+)+$"},
        {"pattern": "(?P<name>a)"},
        {"type": "string", "default": 1},
        {"enum": [3.9]},
        {"const": 3.9},
        {"$schema": "https://json-schema.org/draft/2020-12/schema"},
        {"definitions": {}},
        {"$ref": "#"},
        {"nullable": True},
    ],
)
def test_schemas_with_possible_findings_are_not_flawless(schema: JsonObject) -> None:
    assert not is_flawless(schema)
    assert not is_flawless({"type": "object", "properties": {"a": schema}})
    assert not is_flawless({"anyOf": [{}, schema]})
