"""Nulls that mean an absent value are removed; nulls that are values are kept."""

import pytest

from toolc.model.json_schema import JsonObject, JsonValue
from toolc.validation.coercion import allows_null, without_nulls
from toolc.validation.validate import SchemaValidator

INNER: JsonObject = {"type": "object", "properties": {"x": {"type": "string"}}}


@pytest.mark.parametrize(
    ("schema", "given", "left"),
    [
        ({"type": "string"}, None, {}),
        ({"type": "string"}, "a", {"a": "a"}),
        ({"type": ["string", "null"]}, None, {"a": None}),
        ({"enum": ["x", None]}, None, {"a": None}),
        ({}, None, {"a": None}),
        (INNER, {"x": None}, {"a": {}}),
        ({"items": INNER}, [{"x": None}, {"x": "y"}, None], {"a": [{}, {"x": "y"}, None]}),
        ({"$ref": "#/$defs/inner"}, {"x": None}, {"a": {}}),
        ({"allOf": [INNER, {"properties": {"y": {"const": 1}}}]}, {"x": None, "y": None}, {"a": {}}),
        ({"anyOf": [{"properties": {"x": {"type": "null"}}, "required": ["y"]}, INNER]}, {"x": None}, {"a": {}}),
        ({"anyOf": [{"type": "array"}, {"required": ["x"]}]}, {"x": None}, {"a": {"x": None}}),
        (
            {"anyOf": [INNER, {"properties": {"x": {"type": "null"}}, "required": ["x"]}]},
            {"x": None},
            {"a": {"x": None}},
        ),
    ],
)
def test_nulls_of_optional_properties_are_removed(schema: JsonObject, given: JsonValue, left: JsonObject) -> None:
    root: JsonObject = {"properties": {"a": schema}, "$defs": {"inner": INNER}}
    arguments: JsonObject = {"a": given}
    assert without_nulls(root, arguments) == left
    assert arguments == {"a": given}


def test_nulls_of_required_and_undeclared_properties_are_kept() -> None:
    root: JsonObject = {"properties": {"a": {"type": "string"}}, "required": ["a"]}
    assert without_nulls(root, {"a": None, "b": None}) == {"a": None, "b": None}


@pytest.mark.slow
def test_the_number_of_tried_choices_is_limited() -> None:
    doubled: JsonObject = {
        f"d{level}": {"anyOf": [{"$ref": f"#/$defs/d{level + 1}"}, {"$ref": f"#/$defs/d{level + 1}"}]}
        for level in range(30)
    }
    root: JsonObject = {"properties": {"a": {"$ref": "#/$defs/d0"}}, "$defs": {**doubled, "d30": {"type": "string"}}}
    assert without_nulls(root, {"a": {"x": None}}) == {"a": {"x": None}}


@pytest.mark.parametrize(
    ("schema", "takes"), [(True, True), (False, False), ({"type": "null"}, True), ({"not": {}}, False)]
)
def test_schemas_that_allow_null(schema: JsonValue, takes: bool) -> None:
    assert allows_null(SchemaValidator({}), schema) is takes
