"""JSON values and JSON Schemas: their types, strict parsing, subschemas and JSON Pointers (RFC 6901)."""

import json
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from typing import Final, NoReturn, TypeAlias
from urllib.parse import unquote

from toolc.dataclass import dataclass
from toolc.model.text import lazy_re, shorten, valid_unicode

JsonValue: TypeAlias = "bool | int | float | str | list[JsonValue] | dict[str, JsonValue] | None"
JsonObject: TypeAlias = "dict[str, JsonValue]"

_Route: TypeAlias = tuple[str | int, ...]

MAPS_OF_SCHEMAS: Final = frozenset({"properties", "patternProperties", "dependentSchemas", "$defs", "definitions"})
LISTS_OF_SCHEMAS: Final = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})
SCHEMAS: Final = frozenset(
    {
        "additionalProperties", "contains", "contentSchema", "else", "if", "items", "not", "propertyNames", "then",
        "unevaluatedItems", "unevaluatedProperties",
    }
)  # fmt: skip
"""The keywords of JSON Schema that contain a map of subschemas, a list of subschemas, or a single subschema."""

_HOLD_SCHEMAS: Final = MAPS_OF_SCHEMAS | LISTS_OF_SCHEMAS | SCHEMAS

_INDEX: Final = lazy_re(r"0|[1-9][0-9]{0,8}")

MAX_DIGITS: Final = 4300
"""The maximum number of digits of an integer, which is Python's own default (CVE-2020-10735)."""


MAX_KEY: Final = 60
"""The maximum number of characters of a key in a message."""


@dataclass(frozen=True)
class Schema:
    """The JSON Schema (2020-12) of a tool's parameters. Its root is always ``type: object``.

    ``value`` is the schema with the shorthand expanded. It is never modified.
    """

    value: JsonObject

    @cached_property
    def properties(self) -> dict[str, JsonObject]:
        """The schema of each parameter by name, with ``{}`` for ``true``."""
        declared = self.value.get("properties", {})
        assert isinstance(declared, dict)
        return {name: schema if isinstance(schema, dict) else {} for name, schema in declared.items()}

    @cached_property
    def required(self) -> frozenset[str]:
        """The names of the parameters that every call must have."""
        names = self.value.get("required", [])
        assert isinstance(names, list)
        return frozenset(name for name in names if isinstance(name, str))

    def may_be_absent(self, name: str) -> bool:
        """Return whether a validated call can lack ``name``, because it is not required and has no default."""
        return name not in self.required and "default" not in self.properties.get(name, {})


def direct_subschemas(schema: JsonObject) -> Iterator[JsonObject]:
    """Yield the direct subschemas of ``schema`` that are objects."""
    if _HOLD_SCHEMAS.isdisjoint(schema):
        return
    for key, value in schema.items():
        if key in MAPS_OF_SCHEMAS and isinstance(value, dict):
            subschemas: Iterable[JsonValue] = value.values()
        elif key in LISTS_OF_SCHEMAS and isinstance(value, list):
            subschemas = value
        else:
            subschemas = [value] if key in SCHEMAS else []
        yield from (each for each in subschemas if isinstance(each, dict))


def subschemas(schema: JsonValue) -> Iterator[JsonObject]:
    """Yield ``schema`` and the schemas in it. An object within ``enum`` or ``default`` is a value, not a schema."""
    if isinstance(schema, dict):
        yield schema
        for inner in direct_subschemas(schema):
            yield from subschemas(inner)


def map_subschemas(schema: JsonObject, change: Callable[[JsonValue], JsonValue]) -> JsonObject:
    """Return ``schema`` with ``change`` applied to each direct subschema. Other keywords are not changed."""
    result: JsonObject = {}
    for key, value in schema.items():
        if key in MAPS_OF_SCHEMAS and isinstance(value, dict):
            result[key] = {name: change(each) for name, each in value.items()}
        elif key in LISTS_OF_SCHEMAS and isinstance(value, list):
            result[key] = [change(each) for each in value]
        else:
            result[key] = change(value) if key in SCHEMAS else value
    return result


def pointer_tokens(pointer: str) -> list[str]:
    """Return the unescaped reference tokens of a JSON Pointer (RFC 6901, 3). The empty pointer has none."""
    return [each.replace("~1", "/").replace("~0", "~") for each in pointer.split("/")[1:]]


def list_index(token: str) -> int | None:
    """Return the index, counted from 0, that ``token`` represents (RFC 6901, 4), or None if it is not an index."""
    return int(token) if _INDEX.fullmatch(token) else None


def child_pointer(pointer: str, *keys: str | int) -> str:
    """Return the JSON Pointer for ``keys`` below ``pointer``."""
    return "".join([pointer, *("/" + str(key).replace("~", "~0").replace("/", "~1") for key in keys)])


def target_of(root: JsonObject, reference: str) -> JsonValue:
    """Return the schema to which a reference in ``root`` leads, or None if it is remote, missing, or not a schema."""
    if not reference.startswith("#"):
        return None
    fragment = unquote(reference[1:])
    if fragment and not fragment.startswith("/"):
        return next((each for each in subschemas(root) if fragment in anchors(each)), None)
    schema = value_at(root, pointer_tokens(fragment))
    return schema if isinstance(schema, dict | bool) else None


def anchors(schema: JsonObject) -> tuple[JsonValue, JsonValue]:
    """Return the two anchors of ``schema`` for references such as ``#name``. Each is None if it is missing."""
    return schema.get("$anchor"), schema.get("$dynamicAnchor")


def value_at(value: JsonValue, tokens: Iterable[str]) -> JsonValue:
    """Return the value at the reference tokens of a JSON Pointer (RFC 6901, 4), or None if there is none."""
    for token in tokens:
        index = list_index(token)
        if isinstance(value, dict):
            value = value.get(token)
        elif isinstance(value, list) and index is not None and index < len(value):
            value = value[index]
        else:
            return None
    return value


def values_within(value: JsonValue, route: _Route = ()) -> Iterator[tuple[_Route, JsonValue]]:
    """Yield ``value`` and every value in it, each with its keys and indices after ``route``."""
    yield route, value
    pairs: Iterable[tuple[str | int, JsonValue]] = ()
    if isinstance(value, dict | list):
        pairs = value.items() if isinstance(value, dict) else enumerate(value)
    for key, each in pairs:
        yield from values_within(each, (*route, key))


def list_under(schema: JsonObject, keyword: str) -> list[JsonValue]:
    """Return the list under a keyword, or an empty list if there is none."""
    value = schema.get(keyword)
    return value if isinstance(value, list) else []


def map_under(schema: JsonObject, keyword: str) -> JsonObject:
    """Return the mapping under a keyword, or an empty mapping if there is none."""
    value = schema.get(keyword)
    return value if isinstance(value, dict) else {}


def types_of(schema: JsonObject) -> list[str]:
    """Return the types that the keyword ``type`` lists. Without the keyword, there are none."""
    declared = schema.get("type")
    return [each for each in (declared if isinstance(declared, list) else [declared]) if isinstance(each, str)]


def type_of(value: JsonValue) -> str:
    """Return the type of a value in JSON Schema, with ``number`` split into ``integer`` and ``fraction``."""
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int() | float():
            return "integer" if isinstance(value, int) or value.is_integer() else "fraction"
        case str():
            return "string"
        case list():
            return "array"
        case dict():
            return "object"


def parse_json(data: bytes) -> JsonValue:
    """Like ``decode_json``, but an unpaired surrogate, which UTF-8 cannot represent, becomes U+FFFD."""
    value = decode_json(data)
    if b"\\ud" not in data.lower():
        return value
    try:
        return decode_json(valid_unicode(json.dumps(value, ensure_ascii=False)).encode())
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def decode_json(data: bytes, object_of: Callable[[list[tuple[str, JsonValue]]], JsonObject] | None = None) -> JsonValue:
    """Return one JSON value in UTF-8. Raises ``ValueError`` with a message for the user.

    NaN, Infinity, numbers that a double cannot represent, integers of more than ``MAX_DIGITS`` digits and values
    that are nested too deeply are errors. A string may contain unpaired surrogates. ``object_of`` makes an object of
    its keys and values, such as ``unique_object``.
    """
    try:
        value: JsonValue = json.loads(
            data.decode("utf-8"),
            parse_constant=_refuse_constant,
            parse_float=_float,
            parse_int=_int,
            object_pairs_hook=object_of,
        )
    except UnicodeDecodeError as error:
        raise ValueError(f"byte {error.start} is not UTF-8") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"line {error.lineno} column {error.colno}: {error.msg}") from None
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    return value


def unique_object(pairs: list[tuple[str, JsonValue]]) -> JsonObject:
    """Return an object of keys and values. Raises ``ValueError`` that names a key that occurs twice."""
    result = dict(pairs)
    if len(result) != len(pairs):
        twice = Counter(key for key, _ in pairs).most_common(1)[0][0]
        raise ValueError(f"the key {shorten(twice, MAX_KEY)!r} occurs twice in an object")
    return result


def _float(digits: str) -> float:
    value = float(digits)
    if math.isinf(value):
        raise ValueError(f"{digits[:40]} is too large a number")
    return value


def _int(digits: str) -> int:
    if len(digits) > MAX_DIGITS:
        raise ValueError(f"a number has more than {MAX_DIGITS} digits")
    return int(digits)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")
