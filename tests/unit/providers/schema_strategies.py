"""Generated parameter schemas and values, from domains small enough that values often match."""

from hypothesis import strategies as st

from toolc.model.json_schema import JsonObject, JsonValue

NAMES = ("a", "b", "c")
TYPES = ("string", "integer", "number", "boolean", "null", "array", "object")

_scalars = st.sampled_from(["", "a", "bb", "2020-01-01", 0, 1, -3, 2.5, 4.0, True, False, None])
values: st.SearchStrategy[JsonValue] = st.recursive(
    _scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=3),
    max_leaves=5,
)
arguments: st.SearchStrategy[JsonObject] = st.dictionaries(st.sampled_from(NAMES), values, max_size=3)

_simple: st.SearchStrategy[JsonObject] = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(TYPES) | st.lists(st.sampled_from(TYPES), min_size=1, max_size=3, unique=True),
        "enum": st.lists(values, min_size=1, max_size=3),
        "const": values,
        "minimum": st.integers(-3, 3),
        "exclusiveMaximum": st.integers(-3, 3),
        "minLength": st.integers(0, 2),
        "pattern": st.sampled_from(["^a", "b$"]),
        "format": st.sampled_from(["date", "int32"]),
        "minItems": st.integers(0, 2),
        "uniqueItems": st.booleans(),
        "required": st.lists(st.sampled_from(NAMES), max_size=2, unique=True),
        "description": st.sampled_from(["", "words"]),
        "default": values,
        "title": st.just("Title"),
        "x-own": st.just(1),
    },
)
_references: st.SearchStrategy[JsonObject] = st.sampled_from(["#/$defs/one", "#/$defs/two", "#"]).map(
    lambda reference: {"$ref": reference}
)


def _around(inner: st.SearchStrategy[JsonObject]) -> st.SearchStrategy[JsonObject]:
    inside: st.SearchStrategy[JsonValue] = inner | st.booleans()
    several = st.lists(inside, min_size=1, max_size=2)
    properties = st.dictionaries(st.sampled_from(NAMES), inside, max_size=2)
    compound: st.SearchStrategy[JsonObject] = st.fixed_dictionaries(
        {},
        optional={
            "properties": properties,
            "patternProperties": st.dictionaries(st.just("^a"), inside, max_size=1),
            "additionalProperties": inside,
            "items": inside,
            "prefixItems": several,
            "contains": inside,
            "anyOf": several,
            "oneOf": several,
            "allOf": several,
            "not": inside,
            "if": inside,
            "then": inside,
            "propertyNames": st.just({"pattern": "^a"}),
            "unevaluatedProperties": st.booleans(),
        },
    )
    return st.builds(lambda one, other: {**one, **other}, _simple, compound)


_nodes: st.SearchStrategy[JsonObject] = st.recursive(_simple | _references, _around, max_leaves=6)
# A definition refers only from below a property or an item, so that no reference leads straight to itself.
_definitions: st.SearchStrategy[JsonObject] = st.fixed_dictionaries(
    {"type": st.sampled_from(["object", "array"])},
    optional={
        "properties": st.dictionaries(st.sampled_from(NAMES), _nodes, max_size=2),
        "items": _nodes,
        "required": st.lists(st.sampled_from(NAMES), max_size=2, unique=True),
    },
)
schemas: st.SearchStrategy[JsonObject] = st.fixed_dictionaries(
    {
        "type": st.just("object"),
        "properties": st.dictionaries(st.sampled_from(NAMES), _nodes | _references, max_size=3),
        "$defs": st.fixed_dictionaries({"one": _definitions, "two": _definitions}),
    },
    optional={
        "required": st.lists(st.sampled_from(NAMES), max_size=2, unique=True),
        "additionalProperties": st.booleans(),
        "allOf": st.lists(_simple | st.just({"$ref": "#/$defs/one"}), min_size=1, max_size=2),
        "anyOf": st.lists(_simple, min_size=1, max_size=2),
        "not": _simple,
    },
)
"""The schemas of whole tools; ``$ref`` may be recursive."""
