"""Checking values against schemas: what would take a billion steps ends after a bounded number of them."""

from __future__ import annotations

from toolc.compiler.validation import errors
from toolc.schema import JsonObject, JsonValue


def doubling(levels: int) -> JsonObject:
    """A schema whose references make two of each one, ``levels`` times over, and end at a string."""
    definitions: JsonObject = {
        f"d{level}": {"anyOf": [{"$ref": f"#/$defs/d{level + 1}"}, {"$ref": f"#/$defs/d{level + 1}"}]}
        for level in range(levels)
    }
    return {"$ref": "#/$defs/d0", "$defs": {**definitions, f"d{levels}": {"type": "string"}}}


def messages(schema: JsonObject, value: JsonValue) -> list[str]:
    return [error.message for error in errors(schema, value)]


def test_references_that_double_are_followed_so_often_and_no_more() -> None:
    assert messages(doubling(30), 1) == ["this value takes too long to check: references lead to too many schemas"]
    assert messages(doubling(30), "text") == []
    assert messages(doubling(3), 1) == ["1 is not valid under any of the given schemas"]


def test_a_long_value_may_need_many_references() -> None:
    schema: JsonObject = {"items": {"$ref": "#/$defs/row"}, "$defs": {"row": {"type": "integer"}}}
    assert messages(schema, [1] * 20_000) == []
    assert messages(schema, [*[1] * 20_000, "x"]) == ["'x' is not of type 'integer'"]
