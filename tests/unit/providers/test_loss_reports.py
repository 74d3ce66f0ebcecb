"""What a lowered schema allows and the tool's own schema does not is in the loss report."""

from collections.abc import Iterator, Sequence

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from jsonschema import ValidationError
from models.provider_cases import tool
from schemas.random_schemas import RandomSchemas
from test_lowering_accepts import parameters, validator

from toolc.model.json_schema import JsonObject, pointer_tokens, value_at
from toolc.model.names import PROVIDER_NAMES
from toolc.model.spec.tool import STRICT, ProviderChoice
from toolc.providers import load_provider
from toolc.providers.provider import Lowering
from toolc.validation.coercion import without_nulls


def definition(provider: str, schema: JsonObject, *, strict: bool) -> Lowering:
    choices = (ProviderChoice(provider=provider, strict=True),) if strict else ()
    return load_provider(provider).lower([tool("look", schema, providers=choices)])


def values(made: RandomSchemas, *schemas: JsonObject) -> Iterator[JsonObject]:
    """Yield arguments that are probably valid for one of the schemas."""
    for schema in schemas * 8:
        value = made.argument(schema, schema)
        if isinstance(value, dict):
            yield value


def lost(lowering: Lowering) -> list[list[str]]:
    """Return the path in the schema of each loss."""
    paths = [pointer_tokens(loss.pointer)[1:] for loss in lowering.losses if loss.pointer.startswith("/parameters")]
    closed = [pointer_tokens(loss.pointer)[1:] for loss in lowering.losses if loss.kind == "closed"]
    return [*filter(None, paths), *([*path, "additionalProperties"] for path in closed)]


def is_reported(error: ValidationError, losses: Sequence[list[str]]) -> bool:
    """Return whether a loss is at a keyword that the error is in, or one of its causes."""
    path = [*map(str, error.absolute_schema_path)]  # without references
    return any(_concerns(each, path, error) for each in losses) or any(
        is_reported(each, losses) for each in error.context or ()
    )


def _concerns(loss: list[str], path: list[str], error: ValidationError) -> bool:
    place = loss[:-1] if loss[-1] == "$ref" else loss
    if loss[0] == "$defs":
        place = place[2:]
    # Within a schema that a reference led to, such as ``#``, the path has only the end of the place.
    if any(path[start : start + len(place)] == place for start in range(len(path))):
        return True
    if error.validator == "contains":  # its error does not say why an item is invalid
        return any(path[start:] == place[: len(path) - start] for start in range(len(path)))
    is_false_schema = error.validator is None  # its path ends before the name of the property
    return is_false_schema and (loss[: len(path)] == path or path[1 - len(place) :] == place[:-1])


CASES = [(name, False) for name in PROVIDER_NAMES] + [(name, True) for name in STRICT]


@pytest.mark.slow
@pytest.mark.parametrize(("provider", "strict"), CASES)
@given(seed=st.integers(0, 1_000_000))
@example(seed=5226)
@example(seed=20378)
@example(seed=801489)
@example(seed=4797)
@example(seed=813524)
@settings(max_examples=30, deadline=None)
def test_a_value_that_only_the_lowered_schema_allows_is_explained_by_a_loss(
    provider: str, strict: bool, seed: int
) -> None:
    made = RandomSchemas(seed, strict=strict)
    schema = made.tool()
    lowering = definition(provider, schema, strict=strict)
    lowered = parameters(lowering.tools)
    losses = lost(lowering)
    for value in values(made, schema, lowered):
        if validator(lowered).is_valid(value):
            # As in a call: nulls that represent absent values are removed.
            given_value = without_nulls(schema, value) if strict else value
            errors = [*validator(schema).iter_errors(given_value)]
            # A null may be removed because of a keyword that was lost, and is then missing.
            causes = [*errors, *(validator(schema).iter_errors(value) if errors else ())]
            assert not errors or any(is_reported(each, losses) for each in causes), (errors[0].message, losses)


@pytest.mark.slow
@pytest.mark.parametrize(("provider", "strict"), CASES)
@given(seed=st.integers(0, 1_000_000))
@settings(max_examples=60, deadline=None)
def test_each_loss_is_at_a_part_of_the_tool(provider: str, strict: bool, seed: int) -> None:
    schema = RandomSchemas(seed, strict=strict).tool()
    losses = definition(provider, schema, strict=strict).losses
    assert [loss for loss in losses if not is_in({"parameters": schema}, loss.pointer)] == []


def is_in(document: JsonObject, pointer: str) -> bool:
    """Return whether ``document`` has a value at the JSON Pointer."""
    *parents, last = pointer_tokens(pointer)
    parent = value_at(document, parents)
    return int(last) < len(parent) if isinstance(parent, list) else isinstance(parent, dict) and last in parent


@pytest.mark.parametrize(
    ("schema", "pointer"),
    [
        ({"allOf": [{"minLength": 1}, {"pattern": "a"}], "type": "string"}, "/allOf/1/pattern"),
        ({"allOf": [{"allOf": [{"pattern": "a"}]}, {"maxLength": 1}], "type": "string"}, "/allOf/0/allOf/0/pattern"),
        ({"allOf": [{"properties": {"a": {"pattern": "a"}}}, {"title": "T"}]}, "/allOf/0/properties/a/pattern"),
        (
            {"properties": {"b": {}}, "allOf": [{"properties": {"a": {"pattern": "a"}}}]},
            "/allOf/0/properties/a/pattern",
        ),
        ({"allOf": [{"oneOf": [{"pattern": "a"}, {"type": "null"}]}, {"title": "T"}]}, "/allOf/0/oneOf/0/pattern"),
    ],
)
def test_a_loss_in_a_merged_schema_is_where_the_spec_has_it(schema: JsonObject, pointer: str) -> None:
    losses = definition("gemini", {"type": "object", "properties": {"x": schema}}, strict=False).losses
    assert f"/parameters/properties/x{pointer}" in {loss.pointer for loss in losses}


MERGED: JsonObject = {"allOf": [{"$ref": "#/$defs/d"}, {"title": "T"}]}


@pytest.mark.parametrize(
    ("provider", "schema", "others"),
    [
        ("gemini", MERGED, set()), ("ollama", MERGED, set()),
        ("ollama", {"$ref": "#/$defs/d", "maxLength": 9}, {"/parameters/properties/x/maxLength"}),
    ],
)  # fmt: skip
def test_a_loss_in_a_reference_is_in_its_schema(provider: str, schema: JsonObject, others: set[str]) -> None:
    defs: JsonObject = {"d": {"type": "string", "pattern": "a"}}
    parameters: JsonObject = {"type": "object", "properties": {"x": schema}, "$defs": defs}
    pointers = {loss.pointer for loss in definition(provider, parameters, strict=False).losses if not loss.sdk}
    assert pointers == {"/parameters/$defs/d/pattern"} | others


@pytest.mark.parametrize(
    ("provider", "schema", "keyword", "message"),
    [
        (
            "openai_chat", {"type": "array", "prefixItems": [{"type": "string"}], "unevaluatedItems": False},
            "unevaluatedItems", "OpenAI requires items for each array, and unevaluatedItems has no effect with it",
        ),
        (
            "mcp", {"type": "object", "required": ["a"], "unevaluatedProperties": False}, "unevaluatedProperties",
            "Gemini refuses a required property that is not declared; unevaluatedProperties does not apply to it",
        ),
    ],
)  # fmt: skip
def test_a_keyword_that_an_added_one_turns_off_is_a_loss(
    provider: str, schema: JsonObject, keyword: str, message: str
) -> None:
    lowering = definition(provider, {"type": "object", "properties": {"rest": schema}}, strict=False)
    assert [(each.pointer, each.message) for each in lowering.losses] == [
        (f"/parameters/properties/rest/{keyword}", message)
    ]
