"""Convert arguments from models before or after validation: remove nulls for absent values, and turn 2.0 into 2.

OpenAI's strict mode requires every property in every call, so an optional property becomes "a value or null" there
(``toolc.providers.openai.STRICT``). A null that the tool's own schema allows is a value and is kept.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from toolc.model.json_schema import JsonObject, JsonValue, list_under, map_under, target_of, types_of
from toolc.validation.plain_schema import plainly_satisfies
from toolc.validation.validate import SchemaValidator, ValidationBudget


def without_nulls(schema: JsonObject, arguments: JsonObject) -> JsonObject:
    """Return a copy of ``arguments`` without the optional properties that are null although the schema forbids it."""
    converted = _NullRemoval(SchemaValidator(schema), ValidationBudget.of(arguments)).convert(schema, arguments)
    assert isinstance(converted, dict)
    return converted


def allows_null(validator: SchemaValidator, schema: JsonValue) -> bool:
    """Return whether null is valid for ``schema``, which is part of the schema of ``validator``."""
    return _NullRemoval(validator, ValidationBudget.of(None)).allows(schema, None)


def with_integers(schema: JsonObject, arguments: JsonObject) -> JsonObject:
    """Return a copy of valid ``arguments`` with ``2`` instead of ``2.0`` where ``schema`` requires an integer.

    If the schema also allows other numbers, the value is kept. Raises ``UnresolvableError``.
    """
    converted = _IntegerConversion(SchemaValidator(schema), ValidationBudget.of(arguments)).convert(schema, arguments)
    assert isinstance(converted, dict)
    return converted


@dataclass(slots=True)
class _Conversion:
    """Converts a value by its schema. ``budget`` limits the validation of a call. Once it is spent, values are kept."""

    validator: SchemaValidator
    budget: ValidationBudget

    def concerns(self, value: JsonValue) -> bool:
        """Return whether a value that is not a collection may have to be converted."""
        raise NotImplementedError

    def convert_part(self, schema: JsonObject, value: JsonValue) -> JsonValue:
        """Return ``value`` converted by the keywords of ``schema`` that do not combine schemas."""
        raise NotImplementedError

    def choose(self, choices: list[JsonObject], value: JsonValue) -> JsonValue:
        """Return ``value`` converted by the one of ``choices`` that applies, if there is one."""
        raise NotImplementedError

    def convert(self, schema: JsonValue, value: JsonValue) -> JsonValue:
        """Return ``value`` converted by ``schema``."""
        if not isinstance(schema, dict) or not _any_leaf(value, self.concerns):
            return value
        if isinstance(reference := schema.get("$ref"), str):
            value = self.convert(target_of(self.validator.root, reference), value)
        value = self.convert_part(schema, value)
        for part in _schemas(schema.get("allOf")):
            value = self.convert(part, value)
        for keyword in ("anyOf", "oneOf"):
            value = self.choose(_schemas(schema.get(keyword)), value)
        return value

    def allows(self, schema: JsonValue, value: JsonValue) -> bool:
        """Return whether ``value`` is valid for ``schema``."""
        if not isinstance(schema, dict):
            return schema is True
        if value is None and isinstance(kind := schema.get("type"), str) and kind != "null":
            return False  # a fast answer for almost every property
        if plainly_satisfies(value, schema):
            return True
        return self.budget.left >= 0 and not self.validator.errors(value, at=schema, budget=self.budget)


class _NullRemoval(_Conversion):
    """Removes nulls from objects."""

    __slots__ = ()

    def concerns(self, value: JsonValue) -> bool:
        return value is None

    def convert_part(self, schema: JsonObject, value: JsonValue) -> JsonValue:
        properties, items, needed = schema.get("properties"), schema.get("items"), list_under(schema, "required")
        if isinstance(value, list) and isinstance(items, dict):
            return [self.convert(items, item) for item in value]
        if not isinstance(value, dict) or not isinstance(properties, dict):
            return value
        result: JsonObject = {}
        for name, each in value.items():
            inner = properties.get(name, True)
            if each is not None or name in needed or self.allows(inner, None):
                result[name] = self.convert(inner, each)
        return result

    def choose(self, choices: list[JsonObject], value: JsonValue) -> JsonValue:
        # A null that one of the schemas requires is not one that strict mode introduced.
        if any(self.allows(each, value) for each in choices):
            return value
        for each in choices:
            if self.budget.left < 0:
                break
            converted = self.convert(each, value)
            if self.allows(each, converted):
                return converted
        return value


class _IntegerConversion(_Conversion):
    """Converts floats to integers."""

    __slots__ = ()

    def concerns(self, value: JsonValue) -> bool:
        return isinstance(value, float) and value.is_integer()

    def convert_part(self, schema: JsonObject, value: JsonValue) -> JsonValue:
        match value:
            case float():
                kinds = types_of(schema)
                return int(value) if "integer" in kinds and "number" not in kinds else value
            case dict():
                properties, other = map_under(schema, "properties"), schema.get("additionalProperties")
                return {name: self.convert(properties.get(name, other), each) for name, each in value.items()}
            case list():
                heads, items = list_under(schema, "prefixItems"), schema.get("items")
                return [self.convert(heads[n] if n < len(heads) else items, each) for n, each in enumerate(value)]
            case _:
                return value

    def choose(self, choices: list[JsonObject], value: JsonValue) -> JsonValue:
        """Return ``value`` converted by the ``choices`` that allow it, if all their results are equal."""
        converted = [self.convert(each, value) for each in choices if self.allows(each, value)]
        return converted[0] if converted and len(set(map(repr, converted))) == 1 else value


def _any_leaf(value: JsonValue, test: Callable[[JsonValue], bool]) -> bool:
    if isinstance(value, dict | list):
        return any(_any_leaf(each, test) for each in (value.values() if isinstance(value, dict) else value))
    return test(value)


def _schemas(value: JsonValue) -> list[JsonObject]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []
