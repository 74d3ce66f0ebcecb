"""Derive types from a JSON Schema.

A type accepts every value that its schema accepts. If a type cannot express a rule of the schema, such as ``not`` or a
second schema of ``allOf``, the type accepts more values.
"""

from __future__ import annotations

from typing import Final

from toolc.client.typed.identifiers import Names, type_name
from toolc.client.typed.types import (
    ANY,
    NEVER,
    NULL,
    Alias,
    Definition,
    Field,
    ListOf,
    Literals,
    MapOf,
    Named,
    Primitive,
    Record,
    TupleOf,
    Type,
    union,
)
from toolc.model.json_schema import JsonObject, JsonValue, list_under, map_under, type_of, types_of
from toolc.providers.json_schema.references import References, merge_all_of

MAX_DEFINITIONS: Final = 300
"""The maximum number of records of one schema. Objects beyond it can have any keys.

With references, a small schema can describe a very large type, which slows down a type checker.
"""

_SIMPLE: Final = {
    "null": NULL, "boolean": Primitive("boolean"), "integer": Primitive("integer"), "number": Primitive("number"),
    "string": Primitive("string"),
}  # fmt: skip


class SchemaTypes:
    """The types of one schema. Records and referenced schemas are added to ``definitions``."""

    def __init__(self, schema: JsonObject, prefix: str, names: Names, definitions: list[Definition]) -> None:
        self._references = References(schema)
        self._prefix = prefix
        self._names = names
        self._definitions = definitions
        self._by_target: dict[int, Named] = {}
        self._records_left = MAX_DEFINITIONS

    def type_of(self, schema: JsonValue, name: str) -> Type:
        """Return the type of a subschema. A record is named ``name``, or similarly if that name is in use."""
        if schema is False:
            return NEVER
        if not isinstance(schema, dict):
            return ANY
        schema = merge_all_of(schema, self._references)
        for keyword in ("$ref", "$dynamicRef"):
            if isinstance(reference := schema.get(keyword), str):
                return self._reference(reference)
        if "const" in schema or "enum" in schema:
            return self._values(schema)
        choices = list_under(schema, "anyOf") or list_under(schema, "oneOf")
        if choices and not _has_parts(schema):
            return union(
                [self.type_of(_with_type(each, schema), f"{name}Option{at}") for at, each in enumerate(choices, 1)]
            )
        if _is_object(schema):
            return self._object(schema, name)
        if types := types_of(schema):
            return union([self._of_type(each, schema, name) for each in types])
        # All schemas of allOf apply. Use the first that has a type.
        parts = (self.type_of(each, name) for each in list_under(schema, "allOf"))
        return next((each for each in parts if each != ANY), ANY)

    def record(self, schema: JsonObject, name: str, description: str = "") -> Record:
        """Return the record of an object with this schema."""
        schema = merge_all_of(schema, self._references)
        properties, others = map_under(schema, "properties"), schema.get("additionalProperties", True)
        required = [each for each in list_under(schema, "required") if isinstance(each, str)]
        undeclared: JsonObject = {each: others for each in required if each not in properties}
        fields = [
            self._field(key, each, type_name(name, key), is_required=key in required)
            for key, each in (properties | undeclared).items()
        ]
        is_open = bool(others) and ("additionalProperties" in schema or "patternProperties" in schema)
        return Record(name=name, fields=tuple(fields), is_open=is_open, description=description)

    def _field(self, key: str, schema: JsonValue, name: str, *, is_required: bool) -> Field:
        keywords = schema if isinstance(schema, dict) else {}
        return Field(
            name=key,
            type=self.type_of(schema, name),
            required=is_required,
            description=description_of(keywords),
            default=(keywords["default"],) if "default" in keywords else None,
        )

    def _reference(self, reference: str) -> Type:
        target = self._references.target(reference)
        if not isinstance(target, dict):
            return NEVER if target is False else ANY
        if id(target) not in self._by_target:
            name = self._names.unique(type_name(self._prefix, reference.rpartition("/")[2].lstrip("#")))
            named = self._by_target[id(target)] = Named(name)
            schema = merge_all_of(target, self._references)
            found = self._object(schema, named) if _is_object(schema) else self.type_of(schema, f"{name}Value")
            if found != named:
                self._definitions.append(Alias(name=name, type=found, description=description_of(target)))
        return self._by_target[id(target)]

    def _values(self, schema: JsonObject) -> Type:
        values = [schema["const"]] if "const" in schema else list_under(schema, "enum")
        types = types_of(schema)
        options: list[Type] = []
        for value in values:
            kind = type_of(value)
            if types and kind not in types and not (kind in {"integer", "fraction"} and "number" in types):
                continue
            if isinstance(value, str | bool) or (isinstance(value, int) and not isinstance(value, bool)):
                options.append(Literals((value,)))
            elif isinstance(value, dict | list):
                options.append(MapOf(ANY) if isinstance(value, dict) else ListOf(ANY))
            else:
                options.append(NULL if value is None else Primitive("number"))
        return union(options)

    def _of_type(self, kind: str, schema: JsonObject, name: str) -> Type:
        if kind == "object":
            return self._object(schema, name)
        return self._list(schema, name) if kind == "array" else _SIMPLE[kind]

    def _object(self, schema: JsonObject, name: str | Named) -> Type:
        """Return the type of an object. ``name`` is a ``Named`` if the name is already reserved."""
        others, base = schema.get("additionalProperties", True), name.name if isinstance(name, Named) else name
        has_names = bool(map_under(schema, "properties") or list_under(schema, "required"))
        if not has_names and ("patternProperties" in schema or others is not False):
            return MapOf(ANY if "patternProperties" in schema else self.type_of(others, f"{base}Value"))
        if self._records_left == 0:
            return MapOf(ANY)
        self._records_left -= 1
        used = name if isinstance(name, Named) else Named(self._names.unique(name))
        self._definitions.append(self.record(schema, used.name, description_of(schema)))
        return used

    def _list(self, schema: JsonObject, name: str) -> Type:
        first = list_under(schema, "prefixItems")
        items = schema.get("items", True)
        if not first:
            return ListOf(self.type_of(items, f"{name}Item"))
        least = schema.get("minItems", 0)
        required = min(int(least), len(first)) if isinstance(least, int | float) else 0
        kinds = tuple(self.type_of(each, f"{name}Item{at}") for at, each in enumerate(first, 1))
        rest = None if items is False else self.type_of(items, f"{name}Item")
        return TupleOf(kinds, required, rest)


def description_of(schema: JsonObject) -> str:
    """Return the description of a schema, or its title."""
    text = schema.get("description") or schema.get("title")
    return text if isinstance(text, str) else ""


def _has_parts(schema: JsonObject) -> bool:
    """Return whether the schema itself describes properties or items, which are preferred to its alternatives."""
    return not {"properties", "items", "prefixItems"}.isdisjoint(schema)


def _is_object(schema: JsonObject) -> bool:
    """Return whether a schema accepts only objects."""
    is_other = not {"$ref", "$dynamicRef", "const", "enum"}.isdisjoint(schema)
    has_choices = not {"anyOf", "oneOf"}.isdisjoint(schema) and not _has_parts(schema)
    return types_of(schema) == ["object"] and not is_other and not has_choices


def _with_type(choice: JsonValue, schema: JsonObject) -> JsonValue:
    """Return an alternative. If it has no ``type``, it gets that of the enclosing schema."""
    if "type" not in schema or not isinstance(choice, dict) or {"type", "$ref", "$dynamicRef"} & choice.keys():
        return choice
    return {**choice, "type": schema["type"]}
