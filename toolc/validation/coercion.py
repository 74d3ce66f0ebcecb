"""Convert arguments from models: remove nulls for absent values, parse values that are JSON text, turn 2.0 into 2.

OpenAI's strict mode requires every property in every call, so an optional property becomes "a value or null" there
(``toolc.providers.openai.STRICT``). A null that the tool's own schema allows is a value and is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from toolc.dataclass import dataclass
from toolc.model.json_schema import (
    JsonObject,
    JsonValue,
    child_pointer,
    decode_json,
    list_under,
    map_under,
    target_of,
    type_of,
    types_of,
    unique_object,
)
from toolc.validation.plain_schema import plainly_satisfies
from toolc.validation.schema_patterns import MAX_KEY_LENGTH, matches_key, steps_to_match_keys
from toolc.validation.validate import SchemaValidator, ValidationBudget


def without_nulls(schema: JsonObject, arguments: JsonObject) -> JsonObject:
    """Return a copy of ``arguments`` without the optional properties that are null although the schema forbids it."""
    converted = _NullRemoval(SchemaValidator(schema), ValidationBudget.of(arguments)).convert(schema, arguments)
    assert isinstance(converted, dict)
    return converted


def without_json_text(schema: JsonObject, arguments: JsonValue) -> JsonValue:
    """Return a copy of ``arguments`` in which strings are parsed if they are JSON text and ``schema`` allows no string.

    The text must be an object, an array, a number or a boolean, of a type that ``schema`` allows there.
    """
    return _TextParsing(schema, arguments).convert(schema, arguments)


def parsed_texts(before: JsonValue, after: JsonValue, pointer: str = "") -> Iterator[tuple[str, str]]:
    """Yield the JSON Pointer and the text of each string in ``before`` that ``after`` has parsed."""
    if isinstance(before, str):
        if not isinstance(after, str):
            yield pointer, before
    elif isinstance(before, dict) and isinstance(after, dict):
        for key, each in before.items():
            yield from parsed_texts(each, after[key], child_pointer(pointer, key))
    elif isinstance(before, list) and isinstance(after, list):
        for index, each in enumerate(before):
            yield from parsed_texts(each, after[index], child_pointer(pointer, index))


def parse_text(text: str) -> JsonValue:
    """Return the value of a JSON text that a model wrote. Raises ``ValueError``, also if an object repeats a key."""
    return decode_json(text.encode(), unique_object)


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
        match value:
            case dict():
                return self.convert_members(schema, value)
            case list():
                return self.convert_items(schema, value)
            case _:
                return value

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

    def convert_members(self, schema: JsonObject, value: JsonObject) -> JsonObject:
        """Return an object with each member converted by the parts of ``schema`` that concern its name."""
        properties, patterns = map_under(schema, "properties"), map_under(schema, "patternProperties")
        if not self._can_compare(patterns, value):
            return value
        result: JsonObject = {}
        for name, member in value.items():
            schemas = [properties[name]] if name in properties else []
            schemas += [each for pattern, each in patterns.items() if matches_key(pattern, name)]
            result[name] = member
            for each in schemas or [schema.get("additionalProperties")]:
                result[name] = self.convert(each, result[name])
        return result

    def _can_compare(self, patterns: JsonObject, value: JsonObject) -> bool:
        """Return whether the budget is enough to compare the keys of ``value`` with ``patterns``, and subtract it."""
        if patterns and any(len(name) > MAX_KEY_LENGTH for name in value):
            return False
        self.budget.left -= sum(steps_to_match_keys(each) for each in patterns) * len(value)
        return self.budget.left >= 0

    def convert_items(self, schema: JsonObject, value: list[JsonValue]) -> list[JsonValue]:
        """Return an array with its items converted by ``prefixItems`` and ``items`` of ``schema``."""
        heads, items = list_under(schema, "prefixItems"), schema.get("items")
        return [self.convert(heads[n] if n < len(heads) else items, each) for n, each in enumerate(value)]

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
        if isinstance(value, float):
            kinds = types_of(schema)
            return int(value) if "integer" in kinds and "number" not in kinds else value
        return super().convert_part(schema, value)

    def choose(self, choices: list[JsonObject], value: JsonValue) -> JsonValue:
        """Return ``value`` converted by the ``choices`` that allow it, if all their results are equal."""
        converted = [self.convert(each, value) for each in choices if self.allows(each, value)]
        return converted[0] if converted and len(set(map(repr, converted))) == 1 else value


class _TextParsing(_Conversion):
    """Parses strings that are JSON text."""

    __slots__ = ("_known",)

    def __init__(self, schema: JsonObject, arguments: JsonValue) -> None:
        super().__init__(SchemaValidator(schema), ValidationBudget.of(arguments))
        self._known: dict[tuple[int, str], bool] = {}

    def concerns(self, value: JsonValue) -> bool:
        return isinstance(value, str)

    def convert(self, schema: JsonValue, value: JsonValue) -> JsonValue:
        # Decide about a string with all keywords of its schema, because a single one may forbid strings.
        if isinstance(value, str) and isinstance(schema, dict) and not self._may_be(schema, "string"):
            try:
                parsed = parse_text(value)
            except ValueError:
                return value
            if isinstance(parsed, str) or parsed is None or not self._may_be(schema, type_of(parsed)):
                return value
            value = parsed
        return value if isinstance(value, str) else super().convert(schema, value)

    def choose(self, choices: list[JsonObject], value: JsonValue) -> JsonValue:
        """Return ``value`` as the choices read it that then allow it, if it has only one reading."""
        if any(self.allows(each, value) for each in choices):
            return value
        readings: list[JsonValue] = []
        for each in choices:
            if self.budget.left < 0:
                return value
            converted = self.convert(each, value)
            if self.allows(each, converted) and converted not in readings:
                readings.append(converted)
        return readings[0] if len(readings) == 1 else value

    def _may_be(self, schema: JsonValue, kind: str) -> bool:
        """Return whether ``schema`` may allow a value of a type, as ``type_of`` names it. If in doubt, it may."""
        if not isinstance(schema, dict):
            return schema is not False
        key = (id(schema), kind)
        if key not in self._known:
            self._known[key] = True  # the answer for a schema that leads back to itself
            self._known[key] = self._allows_kind(schema, kind)
        return self._known[key]

    def _allows_kind(self, schema: JsonObject, kind: str) -> bool:
        types = types_of(schema)
        if types and kind not in types and not (kind in {"integer", "fraction"} and "number" in types):
            return False
        values = [schema["const"]] if "const" in schema else schema.get("enum")
        if isinstance(values, list) and kind not in map(type_of, values):
            return False
        every = [target_of(self.validator.root, str(schema["$ref"]))] if "$ref" in schema else []
        every += list_under(schema, "allOf")
        some = (list_under(schema, keyword) for keyword in ("anyOf", "oneOf"))
        return all(self._may_be(each, kind) for each in every) and all(
            not each or any(self._may_be(one, kind) for one in each) for each in some
        )


def _any_leaf(value: JsonValue, test: Callable[[JsonValue], bool]) -> bool:
    if isinstance(value, dict | list):
        return any(_any_leaf(each, test) for each in (value.values() if isinstance(value, dict) else value))
    return test(value)


def _schemas(value: JsonValue) -> list[JsonObject]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []
