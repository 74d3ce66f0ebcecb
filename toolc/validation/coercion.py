"""Converts arguments of models before or after validation: removes nulls for absent values, and turns 2.0 into 2.

OpenAI's strict mode requires every property in every call, so an optional property becomes "a value or null" there
(``toolc.providers.json_schema.strict``). A null that the tool's own schema allows is a value and is kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import unquote

from toolc.model.json_schema import JsonObject, JsonValue
from toolc.validation.plain_schema import plainly_satisfies
from toolc.validation.validate import ValidationBudget, validation_errors

__all__ = ["allows_null", "with_integers", "without_nulls"]


def without_nulls(schema: JsonObject, arguments: JsonObject) -> JsonObject:
    """Return ``arguments`` without optional properties that are null but must not be. ``arguments`` is not
    modified.
    """
    found = _Removal(schema, ValidationBudget.of(arguments)).remove(schema, arguments)
    assert isinstance(found, dict)
    return found


def allows_null(root: JsonObject, schema: JsonValue) -> bool:
    """Return whether null is valid for ``schema``, a subschema of ``root``."""
    return _Removal(root, ValidationBudget.of(None)).takes(None, schema)


@dataclass(slots=True)
class _Removal:
    """Removes nulls. ``budget`` limits all validation for one call; when it is spent, the rest is not changed."""

    root: JsonObject
    budget: ValidationBudget

    def takes(self, value: JsonValue, schema: JsonValue) -> bool:
        """Return whether ``value`` is valid for ``schema``."""
        if not isinstance(schema, dict):
            return schema is True
        if value is None and isinstance(kind := schema.get("type"), str) and kind != "null":
            return False  # a fast answer for almost every property
        return plainly_satisfies(value, schema) or not validation_errors(
            self.root, value, at=schema, budget=self.budget
        )

    def remove(self, schema: JsonValue, value: JsonValue) -> JsonValue:
        """Return ``value`` without the nulls that ``schema`` does not allow."""
        if not isinstance(schema, dict) or not _holds_null(value):
            return value
        if isinstance(reference := schema.get("$ref"), str):
            value = self.remove(self._target(reference), value)
        if isinstance(value, dict):
            value = self._from_object(schema, value)
        elif isinstance(value, list) and isinstance(schema.get("items"), dict):
            value = [self.remove(schema["items"], item) for item in value]
        for part in _schemas(schema.get("allOf")):
            value = self.remove(part, value)
        for keyword in ("anyOf", "oneOf"):
            value = self._by_choice(_schemas(schema.get(keyword)), value)
        return value

    def _from_object(self, schema: JsonObject, value: JsonObject) -> JsonObject:
        properties, required = schema.get("properties"), schema.get("required")
        if not isinstance(properties, dict):
            return value
        needed = required if isinstance(required, list) else []
        result: JsonObject = {}
        for name, each in value.items():
            inner = properties.get(name, True)
            if each is not None or name in needed or self.takes(None, inner):
                result[name] = self.remove(inner, each)
        return result

    def _by_choice(self, choices: list[JsonObject], value: JsonValue) -> JsonValue:
        """Return ``value`` as converted by the first of ``choices`` for which the result is valid."""
        for each in choices:
            if self.budget.left < 0:
                break
            tried = self.remove(each, value)
            if self.takes(tried, each):
                return tried
        return value

    def _target(self, reference: str) -> JsonValue:
        found: JsonValue = self.root
        for token in unquote(reference).split("/")[1:]:
            key = token.replace("~1", "/").replace("~0", "~")
            found = found.get(key) if isinstance(found, dict) else None
        return found


def _holds_null(value: JsonValue) -> bool:
    if isinstance(value, dict | list):
        return any(map(_holds_null, value.values() if isinstance(value, dict) else value))
    return value is None


def _schemas(value: JsonValue) -> list[JsonObject]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def with_integers(schema: JsonObject, arguments: JsonObject) -> JsonObject:
    """Return valid ``arguments`` with ``2`` instead of ``2.0`` where ``schema`` requires an integer.

    The value is kept if the schema allows integers and other numbers (``anyOf`` of integer and number).
    ``arguments`` is not modified. Raises ``UnresolvableError``.
    """
    if not _holds_whole_float(arguments):
        return arguments
    found = _IntegerConversion(schema, ValidationBudget.of(arguments)).read(schema, arguments)
    assert isinstance(found, dict)
    return found


@dataclass(slots=True)
class _IntegerConversion:
    """Converts numbers. ``budget`` limits the validation of all choices of one call; when it is spent, values are
    kept.
    """

    root: JsonObject
    budget: ValidationBudget

    def read(self, schema: JsonValue, value: JsonValue) -> JsonValue:
        """Return ``value`` with the integers that ``schema`` requires."""
        if not isinstance(schema, dict) or not _holds_whole_float(value):
            return value
        if isinstance(reference := schema.get("$ref"), str):
            value = self.read(self._target(reference), value)
        if isinstance(value, float):
            value = int(value) if _wants_integer(schema.get("type")) else value
        elif isinstance(value, dict):
            value = self._object(schema, value)
        elif isinstance(value, list):
            value = self._list(schema, value)
        for part in _schemas(schema.get("allOf")):
            value = self.read(part, value)
        for keyword in ("anyOf", "oneOf"):
            value = self._chosen(_schemas(schema.get(keyword)), value)
        return value

    def _object(self, schema: JsonObject, value: JsonObject) -> JsonObject:
        known, other = schema.get("properties"), schema.get("additionalProperties")
        properties = known if isinstance(known, dict) else {}
        return {name: self.read(properties.get(name, other), each) for name, each in value.items()}

    def _list(self, schema: JsonObject, value: list[JsonValue]) -> list[JsonValue]:
        first, items = schema.get("prefixItems"), schema.get("items")
        heads = first if isinstance(first, list) else []
        return [self.read(heads[n] if n < len(heads) else items, each) for n, each in enumerate(value)]

    def _chosen(self, choices: list[JsonObject], value: JsonValue) -> JsonValue:
        """Return ``value`` as converted by those of ``choices`` that allow it, if their results are equal."""
        taken = [self.read(each, value) for each in choices if self._takes(each, value)]
        return taken[0] if taken and len(set(map(repr, taken))) == 1 else value

    def _takes(self, schema: JsonObject, value: JsonValue) -> bool:
        if plainly_satisfies(value, schema):
            return True
        return self.budget.left >= 0 and not validation_errors(self.root, value, at=schema, budget=self.budget)

    def _target(self, reference: str) -> JsonValue:
        if reference != "#" and not reference.startswith("#/"):
            return None  # an anchor
        found: JsonValue = self.root
        for token in unquote(reference).split("/")[1:]:
            key = token.replace("~1", "/").replace("~0", "~")
            found = found.get(key) if isinstance(found, dict) else None
        return found


def _wants_integer(kind: JsonValue) -> bool:
    """Return whether a ``type`` allows integers but no other numbers."""
    kinds = kind if isinstance(kind, list) else [kind]
    return "integer" in kinds and "number" not in kinds


def _holds_whole_float(value: JsonValue) -> bool:
    if isinstance(value, dict | list):
        return any(map(_holds_whole_float, value.values() if isinstance(value, dict) else value))
    return isinstance(value, float) and value.is_integer()
