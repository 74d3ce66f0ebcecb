"""Random parameter schemas with all keywords, and arguments that are often valid for them."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Final

from toolc.model.json_schema import JsonObject, JsonValue
from toolc.providers.json_schema.references import References

NAMES: Final = ("a", "b", "ab", "c%25", "$ref", "$anchor")
TYPES: Final = ("string", "integer", "number", "boolean", "null", "array", "object")
SCALARS: Final[tuple[JsonValue, ...]] = ("", "a", "ab", "2020-01-31", 0, 1, -3, 2.5, 4.0, True, False, None)
DEFINITIONS: Final = {
    "one": "#/$defs/one", "tw%o": "#/$defs/tw%25o", "thr/ee": "#/$defs/thr~1ee", "fo~ur": "#/$defs/fo~0ur",
    "x y": "#/$defs/x%20y", "R[int]": "#/$defs/R%5Bint%5D", "anchored": "#here", "dynamic": "#there",
}  # fmt: skip
"""The names of the definitions, with a reference to each."""

_MATCHING: Final = {"^a": "axx", "b": "zb", "%": "c%25"}
"""Patterns of names, each with a name that matches."""


class RandomSchemas:
    """Generates schemas of whole tools. With ``strict``, most of them can be lowered for a strict mode."""

    def __init__(self, seed: int, *, strict: bool = False) -> None:
        self.random = random.Random(seed)
        self.strict = strict

    def tool(self) -> JsonObject:
        """Return the schema of a tool's parameters."""
        schema = {key: value for key, value in self._node(0, refers=False).items() if key not in {"enum", "const"}}
        definitions: JsonObject = {name: self._definition() for name in DEFINITIONS}
        definitions["anchored"] |= {"$anchor": "here"}  # type: ignore[operator]  # every definition is an object
        definitions["dynamic"] |= {"$dynamicAnchor": "there"}  # type: ignore[operator]
        properties = schema.get("properties")
        more = {"a": self._node(1)} | (properties if isinstance(properties, dict) else {})
        return schema | {"type": "object", "properties": more, "$defs": definitions}

    def value(self, depth: int = 0) -> JsonValue:
        """Return any value. Objects can have keys that would be keywords in a schema."""
        kind = self.random.random()
        if depth > 2 or kind < 0.6:
            return self.random.choice(SCALARS)
        if kind < 0.8:
            return [self.value(depth + 1) for _ in range(self.random.randint(0, 3))]
        found = {self.random.choice(NAMES): self.value(depth + 1) for _ in range(self.random.randint(0, 3))}
        return found | self.random.choice([{}, {"$anchor": "here"}, {"$ref": "#/$defs/one"}])

    def _definition(self) -> JsonObject:
        inside: JsonObject = {
            "type": self.random.choice(["object", "array", "string"]),
            "properties": {self.random.choice(NAMES): self._node(2)},
            "items": self._node(2),
        }
        return inside | ({"additionalProperties": False} if self.strict or self._is(0.5) else {})

    def _is(self, probability: float) -> bool:
        return self.random.random() < probability

    def _node(self, depth: int, *, refers: bool = True) -> JsonObject:
        """Return a schema. ``refers`` is whether it is below a property or an item, so that it can have a ``$ref``."""
        schema: JsonObject = {}
        if self._is(0.9 if self.strict else 0.6):
            several: list[JsonValue] = [*self.random.sample(TYPES, self.random.randint(1, 3))]
            schema["type"] = self.random.choice(TYPES) if self._is(0.7) else several
        if refers and self._is(0.2):
            return {"$ref": self.random.choice([*DEFINITIONS.values(), "#"])} | ({} if self.strict else schema)
        for keyword, (probability, make) in self._keywords().items():
            if self._is(probability / 2 if self.strict else probability):
                schema[keyword] = make()
        if depth < 3:
            self._add_subschemas(schema, depth, refers=refers)
        return schema

    def _keywords(self) -> dict[str, tuple[float, Callable[[], JsonValue]]]:
        choose = self.random.choice
        return {
            "enum": (0.12, lambda: [self.value() for _ in range(self.random.randint(1, 4))]),
            "const": (0.05, self.value), "default": (0.1, self.value), "examples": (0.05, lambda: [self.value()]),
            "minimum": (0.1, lambda: choose([-3, 0, 2])), "exclusiveMaximum": (0.07, lambda: choose([-3, 3, 6])),
            "multipleOf": (0.05, lambda: choose([2, 0.5])), "minLength": (0.05, lambda: choose([0, 2])),
            "pattern": (0.05, lambda: choose(["^a", "b$"])), "format": (0.1, lambda: choose(["date", "int32", "iri"])),
            "minItems": (0.1, lambda: choose([0, 1, 2])), "uniqueItems": (0.05, lambda: True),
            "required": (0.25, lambda: [*self.random.sample(NAMES, choose([1, 2]))]),
            "dependentRequired": (0.05, lambda: {choose(NAMES): [choose(NAMES)]}), "minProperties": (0.05, lambda: 1),
            "propertyNames": (0.03, lambda: {"pattern": "^[ab]"}), "unevaluatedItems": (0.04, lambda: False),
            "unevaluatedProperties": (0.06, lambda: choose([False, True])), "description": (0.1, lambda: "words"),
            "x-own": (0.03, lambda: 1),
        }  # fmt: skip

    def _add_subschemas(self, schema: JsonObject, depth: int, *, refers: bool) -> None:
        def below() -> JsonValue:
            return self.random.choice([True, False]) if self._is(0.05) else self._node(depth + 1)

        def in_place(count: int) -> list[JsonValue]:
            return [self._node(depth + 1, refers=refers) for _ in range(count)]

        rarely = 0.02 if self.strict else 0.15
        names, patterns = self.random.choices(NAMES, k=self.random.randint(0, 3)), self.random.choices([*_MATCHING])
        likely: dict[str, tuple[float, Callable[[], JsonValue]]] = {
            "properties": (0.6, lambda: {name: below() for name in names}),
            "additionalProperties": (0.3, lambda: self.random.choice([False, False, True, below()])),
            "patternProperties": (rarely, lambda: {pattern: below() for pattern in patterns}),
            "items": (0.4, below), "prefixItems": (rarely, lambda: [below()]), "allOf": (rarely, lambda: in_place(2)),
            "anyOf": (0.12, lambda: in_place(2)), "oneOf": (0.12, lambda: in_place(2)),
        }  # fmt: skip
        for keyword in ("not", "if", "then", "else", "contains"):
            likely[keyword] = (rarely / 3, lambda: in_place(1)[0])
        for keyword, (probability, make) in likely.items():
            if self._is(probability):
                schema[keyword] = make()
        if self.strict and schema.get("type") == "object":
            schema |= {"properties": schema.get("properties", {}), "additionalProperties": False}

    def argument(self, schema: JsonValue, root: JsonObject, depth: int = 0) -> JsonValue:
        """Return a value that is probably valid for ``schema``, a subschema of ``root``."""
        if self._is(0.06) or depth > 5 or not isinstance(schema, dict):
            return self.value(1)
        if isinstance(reference := schema.get("$ref"), str):
            return self.argument(References(root).target(reference), root, depth + 1)
        if "const" in schema:
            return schema["const"]
        if isinstance(listed := schema.get("enum"), list):
            return self.random.choice(listed)
        for keyword in ("anyOf", "oneOf", "allOf"):
            choices = schema.get(keyword)
            if isinstance(choices, list) and ("type" not in schema or self._is(0.3)):
                return self.argument(self.random.choice(choices), root, depth + 1)
        declared = schema.get(
            "type", "object" if "properties" in schema else "array" if "items" in schema else [*TYPES]
        )
        kind = self.random.choice(declared) if isinstance(declared, list) else declared
        match kind:
            case "object":
                return self._object(schema, root, depth)
            case "array":
                size = self.random.choice([schema.get("minItems", 0), 2])
                assert isinstance(size, int)
                return [self.argument(schema.get("items", True), root, depth + 1) for _ in range(size)]
            case _:
                fitting = {"string": (str,), "integer": (int,), "number": (int, float), "boolean": (bool,)}
                types = fitting.get(str(kind), (type(None),))
                return self.random.choice([each for each in SCALARS if isinstance(each, types)])

    def _object(self, schema: JsonObject, root: JsonObject, depth: int) -> JsonObject:
        properties, required = schema.get("properties", {}), schema.get("required", [])
        patterns, others = schema.get("patternProperties", {}), schema.get("additionalProperties", True)
        assert isinstance(properties, dict)
        assert isinstance(required, list)
        assert isinstance(patterns, dict)
        found = {
            name: self.argument(each, root, depth + 1)
            for name, each in properties.items()
            if name in required or self._is(0.5)
        }
        for pattern, each in patterns.items():
            found[_MATCHING[pattern]] = self.argument(each, root, depth + 1)
        for name in map(str, required):
            found.setdefault(name, self.argument(others, root, depth + 1))
        return found | ({} if others is False or self._is(0.7) else {"zz": self.argument(others, root, depth + 1)})
