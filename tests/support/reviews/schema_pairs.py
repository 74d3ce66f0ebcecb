"""Pairs of schemas for the review of contracts, and values for them, from a seed.

The values do not depend on the code under test: they are made of the names, numbers and texts that the two schemas
mention, and of changed copies of values that one of them accepts.
"""

from __future__ import annotations

import copy
import random
from typing import Final

from toolc.model.json_schema import JsonObject, JsonValue
from toolc.validation.validate import validation_errors

NAMES: Final = ("a", "b", "c", "x-a", "kind")
PATTERNS: Final = ("^a", "^x-", "b$", "^[a-z]+$", ".*", "^[a-c]{1,2}$", "")
SCALARS: Final[tuple[JsonValue, ...]] = ("a", "b", "ab", "x-a", "", 0, 1, 2, 3, 5, 1.5, True, False, None)
TEXTS: Final = ("", "a", "b", "c", "ab", "abc", "x-a", "x-b", "kind", "cb", "A", "0", "aaaa", "zzzzzz", "2020-01-31")
MAX_VALUES: Final = 260


def schema(rng: random.Random, depth: int = 2) -> JsonValue:
    """Return a schema, with others inside up to ``depth`` levels."""
    if rng.random() < 0.05:
        return copy.deepcopy(rng.choice(_TRIVIAL))
    made: JsonObject = {}
    kind = rng.choice(["string", "integer", "number", "object", "array", "boolean", "null", "", "many"])
    if kind == "many":
        made["type"] = rng.sample(["string", "integer", "null", "object", "array"], 2)
    elif kind:
        made["type"] = kind
    for keyword in rng.sample(_fitting(kind), min(rng.choice([1, 1, 2, 2, 3]), len(_fitting(kind)))):
        made |= keyword_of(rng, keyword, depth)
    if rng.random() < 0.12:
        made |= keyword_of(rng, rng.choice(_EVERY), depth)
    return made


_NUMERIC: Final = ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "enum", "const"]
_TEXTUAL: Final = ["minLength", "maxLength", "pattern", "enum", "const", "contentEncoding", "format"]
_OBJECTS: Final = [
    "properties", "required", "additionalProperties", "patternProperties", "propertyNames", "minProperties",
    "maxProperties", "dependentRequired", "dependentSchemas", "unevaluatedProperties", "properties", "closed",
]  # fmt: skip
_ARRAYS: Final = [
    "items",
    "prefixItems",
    "minItems",
    "maxItems",
    "uniqueItems",
    "contains",
    "unevaluatedItems",
    "items",
]
_COMBINED: Final = ["anyOf", "oneOf", "allOf", "not", "if"]
_EVERY: Final = [*_NUMERIC, *_TEXTUAL, *_OBJECTS, *_ARRAYS, *_COMBINED]


def _fitting(kind: str) -> list[str]:
    by_kind = {"string": _TEXTUAL, "integer": _NUMERIC, "number": _NUMERIC, "object": _OBJECTS, "array": _ARRAYS}
    return [*by_kind.get(kind, [*_OBJECTS, *_ARRAYS, "enum"]), *_COMBINED]


def keyword_of(rng: random.Random, keyword: str, depth: int) -> JsonObject:
    """Return one keyword, or a few that belong together, with a random value."""

    def inner() -> JsonValue:
        return schema(rng, depth - 1) if depth > 0 else copy.deepcopy(rng.choice(_LEAVES))

    if keyword in _VALUES:
        return {keyword: copy.deepcopy(rng.choice(_VALUES[keyword]))}
    if keyword in {"properties", "patternProperties", "dependentSchemas", "closed"}:
        names = PATTERNS if keyword == "patternProperties" else NAMES
        inside: JsonObject = {name: inner() for name in rng.sample(names, rng.choice([1, 1, 2]))}
        return {"properties": inside, "additionalProperties": False} if keyword == "closed" else {keyword: inside}
    if keyword == "enum":
        return {keyword: [*rng.sample(SCALARS, rng.choice([1, 2, 3]))]}
    if keyword in {"anyOf", "oneOf", "allOf", "prefixItems"}:
        return {keyword: [inner() for _ in range(rng.choice([1, 2, 2]))]}
    if keyword == "contains":
        return {keyword: inner()} | copy.deepcopy(rng.choice(_COUNTS))
    if keyword == "if":
        return {key: inner() for key in ("if", *rng.choice([["then"], ["else"], ["then", "else"], []]))}
    return {keyword: inner()}


_TRIVIAL: Final[list[JsonValue]] = [True, True, False, {}]
_LEAVES: Final[list[JsonValue]] = [True, False, {"type": "string"}, {"const": 1}]
_COUNTS: Final[list[JsonObject]] = [
    {}, {}, {"minContains": 0}, {"minContains": 2}, {"maxContains": 1}, {"maxContains": 2},
]  # fmt: skip
_VALUES: Final[dict[str, list[JsonValue]]] = {
    **{keyword: [0, 1, 2, 3, 5, 1.5] for keyword in ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")},
    **{
        keyword: [0, 1, 2, 3]
        for keyword in ("minLength", "minItems", "minProperties", "maxLength", "maxItems", "maxProperties")
    },
    "multipleOf": [1, 2, 3, 0.5, 4], "pattern": [*PATTERNS], "format": ["date", "uuid", "int32"],
    "contentEncoding": ["base64"], "const": [*SCALARS], "uniqueItems": [True, True, False],
    "required": [["a"], ["b"], ["a", "b"]], "dependentRequired": [{"a": ["b"]}, {"b": ["c"]}, {"a": ["b", "c"]}],
}  # fmt: skip


def places(value: JsonValue, found: list[JsonObject] | None = None) -> list[JsonObject]:
    """Return a schema and all schemas inside it that are objects."""
    found = [] if found is None else found
    if isinstance(value, dict):
        found.append(value)
        for key, each in value.items():
            if key in {"properties", "patternProperties", "dependentSchemas"} and isinstance(each, dict):
                for one in each.values():
                    places(one, found)
            elif key in {"allOf", "anyOf", "oneOf", "prefixItems"} and isinstance(each, list):
                for one in each:
                    places(one, found)
            elif key in {"items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames",
                         "unevaluatedItems", "unevaluatedProperties"}:  # fmt: skip
                places(each, found)
    return found


_NULLS: Final[list[JsonValue]] = [{"type": "null"}]


def changed(rng: random.Random, old: JsonValue) -> JsonValue:
    """Return a copy of a schema with one or two changes."""
    new = copy.deepcopy(old)
    for _ in range(rng.choice([1, 1, 2, 3])):
        inside = places(new) or [{}]
        place = rng.choice(inside[: rng.choice([1, 2, 3, len(inside)])])
        kept = {**place}
        match rng.choice(["add", "add", "remove", "remove", "change", "change", "wrap", "annotate", "list"]):
            case "add":
                place |= keyword_of(rng, rng.choice(_fitting(str(place.get("type", "")))), 1)
            case "remove" if place:
                del place[rng.choice([*place])]
            case "change" if place:
                keyword = rng.choice([*place])
                if keyword in _EVERY:
                    place |= keyword_of(rng, keyword, 1)
            case "wrap":
                place.clear()
                place[rng.choice(["allOf", "anyOf", "oneOf"])] = [kept, *copy.deepcopy(_NULLS[: rng.choice([0, 0, 1])])]
            case "annotate":
                place["description"] = "A text."
            case _:
                for keyword in ("anyOf", "oneOf", "allOf", "enum", "prefixItems"):
                    some = place.get(keyword)
                    if isinstance(some, list) and len(some) > 1:
                        some.pop(rng.randrange(len(some)))
    return new


def pair(seed: int) -> tuple[JsonObject, JsonObject]:
    """Return two schemas: the second is a changed copy of the first, with a closed root in some cases."""
    rng = random.Random(seed)
    while True:
        old = schema(rng)
        new = changed(rng, old)
        if not (isinstance(old, dict) and isinstance(new, dict)) or old == new:
            continue
        # A schema that accepts hardly anything says little about a change of it.
        if sum(not validation_errors(old, each) for each in _EXAMPLES) + rng.choice([0, 0, 0, 2]) >= 2:
            return (_parameters(old), _parameters(new)) if rng.random() < 0.4 else (old, new)


_EXAMPLES: Final[tuple[JsonValue, ...]] = (
    *SCALARS, {}, {"a": "a"}, {"a": 1}, {"b": "b"}, {"c": None}, {"a": 2, "b": 3}, {"x-a": "x"}, {"a": {"a": 1}}, [],
    ["a"], [1], [1, 2], ["a", "b"], [1, "a"], [{}], [[]], {"kind": "a"}, {"a": []}, {"b": [1]}, "zz", "aaaa", 10, -1,
)  # fmt: skip


def _parameters(inner: JsonValue) -> JsonObject:
    return {"type": "object", "properties": {"a": inner}, "required": ["a"], "additionalProperties": False}


def values(seed: int, *schemas: JsonValue) -> list[JsonValue]:
    """Return values near the schemas."""
    rng = random.Random(seed)
    scalars = [*SCALARS, *TEXTS, *_mentioned(schemas)]
    found: list[JsonValue] = [*scalars]
    for _ in range(MAX_VALUES):
        found.append(_value(rng, scalars, rng.choice([1, 2, 2, 3])))
    for each in schemas:
        for _ in range(40):
            found.append(_directed(rng, each, scalars, 4))
    near = [_mutated(rng, each, scalars) for each in rng.sample(found, min(80, len(found)))]
    return [*found, *near]


def _mentioned(schemas: JsonValue | tuple[JsonValue, ...]) -> list[JsonValue]:
    if isinstance(schemas, dict):
        return [one for key, each in schemas.items() for one in (key, *_mentioned(each))]
    if isinstance(schemas, list | tuple):
        return [one for each in schemas for one in _mentioned(each)]
    if isinstance(schemas, int | float) and not isinstance(schemas, bool):
        return [schemas, schemas + 1, schemas - 1, schemas + 0.5]
    return [schemas] if isinstance(schemas, str) else []


def _value(rng: random.Random, scalars: list[JsonValue], depth: int) -> JsonValue:
    kind = rng.choice(["scalar", "array", "object"]) if depth else "scalar"
    if kind == "array":
        return [_value(rng, scalars, depth - 1) for _ in range(rng.choice([0, 1, 2, 3, 4]))]
    if kind == "object":
        names = rng.sample([*NAMES, *TEXTS], rng.choice([0, 1, 1, 2, 3]))
        return {name: _value(rng, scalars, depth - 1) for name in names}
    return rng.choice(scalars)


def _directed(rng: random.Random, schema: JsonValue, scalars: list[JsonValue], depth: int) -> JsonValue:
    """Return a value that follows the parts of a schema without regard to most of its keywords."""
    if not isinstance(schema, dict) or not depth:
        return _value(rng, scalars, 1)
    some = [each for key in ("anyOf", "oneOf", "allOf") for each in _listed(schema.get(key))]
    some += [schema[key] for key in ("then", "else", "not", "if") if key in schema]
    if some and rng.random() < 0.6:
        rest: JsonObject = {key: each for key, each in schema.items() if key not in {"anyOf", "oneOf", "allOf"}}
        chosen = rng.choice(some)
        return _directed(rng, rest | chosen if isinstance(chosen, dict) else rest, scalars, depth - 1)
    if "const" in schema:
        return schema["const"]
    if _listed(schema.get("enum")):
        return rng.choice(_listed(schema["enum"]))
    kinds = schema.get("type", rng.choice(["object", "array", "string", "number"]))
    kind = rng.choice(kinds) if isinstance(kinds, list) else kinds
    if kind == "object":
        return _object(rng, schema, scalars, depth)
    if kind == "array":
        count = rng.choice([0, 1, 2, 3])
        first = _listed(schema.get("prefixItems"))
        inner = [schema[key] for key in ("items", "contains", "unevaluatedItems") if key in schema] or [True]
        return [
            _directed(rng, first[index] if index < len(first) else rng.choice(inner), scalars, depth - 1)
            for index in range(count)
        ]
    fitting = {"string": (str,), "integer": (int,), "number": (int, float), "boolean": (bool,)}.get(str(kind))
    if fitting is None:
        return None
    return rng.choice([each for each in (*scalars, True) if isinstance(each, fitting)])


def _object(rng: random.Random, schema: JsonObject, scalars: list[JsonValue], depth: int) -> JsonValue:
    named = schema.get("properties")
    properties = named if isinstance(named, dict) else {}
    made: JsonObject = {}
    for name, inner in properties.items():
        if rng.random() < 0.7:
            made[name] = _directed(rng, inner, scalars, depth - 1)
    for required in _listed(schema.get("required")):
        made.setdefault(str(required), _directed(rng, properties.get(str(required)), scalars, depth - 1))
    if rng.random() < 0.4:
        others = [schema[key] for key in ("additionalProperties", "unevaluatedProperties") if key in schema] or [True]
        made[rng.choice([*NAMES, *TEXTS])] = _directed(rng, rng.choice(others), scalars, depth - 1)
    return made


def _listed(value: JsonValue) -> list[JsonValue]:
    return value if isinstance(value, list) else []


def _mutated(rng: random.Random, value: JsonValue, scalars: list[JsonValue]) -> JsonValue:
    if isinstance(value, dict) and value and rng.random() < 0.8:
        name = rng.choice([*value])
        if rng.random() < 0.3:
            return {key: each for key, each in value.items() if key != name}
        return value | {name: _mutated(rng, value[name], scalars)}
    if isinstance(value, list) and value and rng.random() < 0.8:
        index = rng.randrange(len(value))
        return [*value[:index], _mutated(rng, value[index], scalars), *value[index + 1 :]]
    return rng.choice(scalars)


def separating(seed: int, accepts: JsonObject, refuses: JsonObject) -> list[JsonValue]:
    """Return the values that the first schema accepts and the second refuses."""
    return [
        each
        for each in values(seed, accepts, refuses)
        if not validation_errors(accepts, each) and validation_errors(refuses, each)
    ]
