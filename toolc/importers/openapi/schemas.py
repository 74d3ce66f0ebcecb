"""Convert the schemas of OpenAPI 3.0, 3.1 and Swagger 2 to the JSON Schema 2020-12 that toolc accepts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from toolc.importers.openapi.source import Document, LeftOutError
from toolc.model.json_schema import (
    LISTS_OF_SCHEMAS,
    SCHEMAS,
    JsonObject,
    JsonValue,
    list_under,
    map_subschemas,
    map_under,
    subschemas,
    type_of,
    types_of,
)
from toolc.model.text import shorten
from toolc.validation.ecma_pattern import translate
from toolc.validation.ecma_tree import PatternError
from toolc.validation.formats import KNOWN_FORMATS
from toolc.validation.plain_schema import plainly_satisfies
from toolc.validation.schema_patterns import is_slow_pattern

MAX_NODES: Final = 1_000
"""The maximum number of schemas in the parameters or the result of a tool. Deeper references become any value."""

_MAX_TEXT: Final = 400
"""The maximum length of the description of a value, in characters."""

_NO_WIDTH: Final = re.compile("[\u00ad\u200b\u2060\ufe0f\ufeff]")
_TEXTS: Final = frozenset({"$ref", "description", "title", "externalDocs", "xml"})
_EXACT: Final = 2**53 - 1
_TYPES: Final = frozenset({"array", "boolean", "integer", "null", "number", "object", "string"})
_COMBINED: Final = frozenset({"allOf", "anyOf", "oneOf", "not", "if", "patternProperties", "dependentSchemas"})
_INLINE: Final = 3
"""The maximum number of schemas in a definition that is repeated at each reference to it."""


def _is_count(value: JsonValue) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _EXACT


def _is_number(value: JsonValue) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= _EXACT


_KEPT: Final[Mapping[str, Callable[[JsonValue], bool]]] = {
    **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), _is_number),
    **dict.fromkeys(
        ("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "minContains",
         "maxContains"), _is_count,
    ),
    "multipleOf": lambda value: _is_number(value) and isinstance(value, int | float) and value > 0,
    "uniqueItems": lambda value: isinstance(value, bool),
    "deprecated": lambda value: value is True,
    "format": lambda value: isinstance(value, str) and value in KNOWN_FORMATS,
    "pattern": lambda value: isinstance(value, str) and _is_usable(value),
    "contentEncoding": lambda value: isinstance(value, str),
    "contentMediaType": lambda value: isinstance(value, str),
}  # fmt: skip
"""The keywords that are copied if they have a value that toolc accepts."""


def _is_usable(pattern: str) -> bool:
    """Return whether a pattern is valid in ECMA-262 and fast. OpenAPI documents often use other dialects."""
    try:
        translate(pattern)
    except PatternError:
        return False
    return not is_slow_pattern(pattern)


class Schemas:
    """Converts the schemas of one tool, for requests or for responses. ``finish`` adds the referenced definitions."""

    def __init__(self, document: Document, *, is_request: bool, depth: int | None = None) -> None:
        self._document = document
        self._hidden = "readOnly" if is_request else "writeOnly"
        self._is_request = is_request
        self._depth = depth
        self._names: dict[str, str] = {}
        self._pending: list[tuple[str, JsonValue, str, int]] = []
        self._definitions: dict[str, JsonObject] = {}
        self._level = 0
        self._nodes = 0

    def convert(self, value: JsonValue, base: str) -> JsonObject:
        """Return a schema without references to the document. Raises ``LeftOutError`` and ``OverflowError``."""
        if not isinstance(value, dict):
            return {"not": {}} if value is False else {}
        self._nodes += 1
        if self._nodes > MAX_NODES:
            raise OverflowError
        value = _with_reference(value)
        if isinstance(reference := value.get("$ref"), str):
            return self._reference(reference, value, base)
        value, base = self.merged(value, base)
        found = self._own(value)
        for key, each in value.items():
            if key in {"properties", "patternProperties", "dependentSchemas"} and isinstance(each, dict):
                kept = {name: inner for name, inner in each.items() if not self.is_hidden(inner, base)}
                if key == "patternProperties":
                    kept = {name: inner for name, inner in kept.items() if _is_usable(name)}
                found[key] = {name: self.convert(inner, base) for name, inner in kept.items()}
            elif key in LISTS_OF_SCHEMAS and isinstance(each, list) and each:
                found[key] = [self.convert(inner, base) for inner in each]
            elif key == "items" and isinstance(each, list):
                found["prefixItems"] = [self.convert(inner, base) for inner in each]
            elif key in SCHEMAS and isinstance(each, dict | bool):
                found[key] = each if isinstance(each, bool) else self.convert(each, base)
        self._discriminate(value, found)
        if isinstance(required := value.get("required"), list):
            hidden = map_under(value, "properties").keys() - map_under(found, "properties").keys()
            texts = dict.fromkeys(name for name in required if isinstance(name, str))
            names = [name for name in texts if name not in hidden]
            found |= {"required": [*names]} if names else {}
        return self._nullable(value, found)

    def finish(self, root: JsonObject) -> JsonObject:
        """Return ``root`` with ``$defs``.

        Definitions that are short or used once are inlined. Raises like ``convert``.
        """
        while self._pending:
            name, value, base, self._level = self._pending.pop()
            self._definitions[name] = self.convert(value, base)
        definitions = self._definitions
        if not definitions:
            return root
        reached = {name: {*_references(each)} for name, each in definitions.items()}
        uses = Counter(name for each in (root, *definitions.values()) for name in _references(each))
        for middle, further in reached.items():  # all ways through the first definition, then also the second, ...
            for names in reached.values():
                names.update(further if middle in names else ())
        inlined = {
            name: each for name, each in definitions.items()
            if name not in reached[name] and (uses[name] == 1 or sum(1 for _ in subschemas(each)) <= _INLINE)
        }  # fmt: skip
        kept: JsonObject = {name: _inline(each, inlined) for name, each in definitions.items() if name not in inlined}
        root = _inline(root, inlined)
        used = {name for each in (root, *kept.values()) for name in _references(each)}
        shown: JsonObject = {name: each for name, each in kept.items() if name in used}
        return root | ({"$defs": shown} if shown else {})

    def merged(self, value: JsonObject, base: str, depth: int = 0) -> tuple[JsonObject, str]:
        """Return a schema with the properties of its ``allOf`` merged, if all parts are plain objects."""
        parts = value.get("allOf")
        if not isinstance(parts, list) or not parts or depth > 8:
            return value, base
        properties: JsonObject = {}
        required: list[JsonValue] = []
        rest = {key: each for key, each in value.items() if key not in {"allOf", "properties", "required"}}
        own: JsonObject = {key: value[key] for key in ("properties", "required") if key in value}
        for part in [*parts, own]:
            inner, inner_base = self._document.object_at(part, base)
            inner, inner_base = self.merged(inner, inner_base, depth + 1)
            declared = map_under(inner, "properties")
            if inner_base != base or not _COMBINED.isdisjoint(inner) or inner.get("type", "object") != "object":
                return value, base
            if any(properties.get(key, each) != each for key, each in declared.items()):
                return value, base
            properties |= declared
            required += list_under(inner, "required")
            rest |= {key: each for key, each in inner.items() if key in {"description"} and key not in rest}
        if not properties:
            return value, base
        names: list[JsonValue] = [*dict.fromkeys(map(str, required))]
        return {"type": "object", **rest, "properties": properties, "required": names}, base

    def is_hidden(self, value: JsonValue, base: str) -> bool:
        """Return whether a property exists only in the other direction (request or response)."""
        if not isinstance(value, dict):
            return False
        return value.get(self._hidden) is True or self._document.object_at(value, base)[0].get(self._hidden) is True

    def _reference(self, reference: str, value: JsonObject, base: str) -> JsonObject:
        target = self._document.target(reference, base)
        if self._depth is not None and self._level >= self._depth and target.identity not in self._names:
            inner = target.value if isinstance(target.value, dict) else {}
            return {key: inner[key] for key in ("type",) if str(inner.get(key)) in _TYPES}
        name = self._names.get(target.identity)
        if name is None:
            stem = re.sub(r"[^A-Za-z0-9_.-]+", "_", target.identity.rpartition("/")[2])[:60] or "schema"
            name, number = stem, 2
            while name in self._names.values():
                name, number = f"{stem}_{number}", number + 1
            self._names[target.identity] = name
            self._pending.append((name, target.value, target.base, self._level + 1))
        described = one_line(value.get("description"), _MAX_TEXT)
        found: JsonObject = {"$ref": f"#/$defs/{name}"}
        return found | ({"description": described} if described else {})

    def _own(self, value: JsonObject) -> JsonObject:
        """Return the keywords of a schema that contain no schemas."""
        found: JsonObject = {}
        kinds = value.get("type")
        types: list[JsonValue] = [each for each in types_of(value) if each in _TYPES]
        if kinds == "file":
            types = ["string"]
        if types:
            found["type"] = types[0] if len(types) == 1 else types
        if description := one_line(value.get("description"), _MAX_TEXT):
            found["description"] = description
        found |= {key: each for key, each in value.items() if key in _KEPT and _KEPT[key](each)}
        for key, exclusive in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
            if value.get(exclusive) is True and key in found:
                found[exclusive] = found.pop(key)
        if "string" not in types and types:
            found = {key: each for key, each in found.items() if key not in {"pattern", "minLength", "maxLength"}}
        return found | _choices(value, types) | _examples(value, found, is_request=self._is_request)

    def _discriminate(self, value: JsonObject, found: JsonObject) -> None:
        """Add the values of the discriminator to each alternative that is a reference."""
        discriminator = value.get("discriminator")
        name = discriminator.get("propertyName") if isinstance(discriminator, dict) else None
        mapping = discriminator.get("mapping", {}) if isinstance(discriminator, dict) else {}
        for key in ("oneOf", "anyOf"):
            branches, converted = value.get(key), found.get(key)
            if not isinstance(name, str) or not isinstance(branches, list) or not isinstance(converted, list):
                continue
            for index, branch in enumerate(branches):
                reference = branch.get("$ref") if isinstance(branch, dict) else None
                if isinstance(reference, str):
                    short = reference.rpartition("/")[2]
                    listed = mapping.items() if isinstance(mapping, dict) else ()
                    names: list[JsonValue] = [each for each, target in listed if target in (reference, short)]
                    choice: JsonObject = {"properties": {name: {"enum": names or [short]}}, "required": [name]}
                    converted[index] = {"allOf": [converted[index], choice]}

    def _nullable(self, value: JsonObject, found: JsonObject) -> JsonObject:
        if value.get("nullable") is not True and value.get("x-nullable") is not True:
            return found
        kinds, enum = found.get("type"), found.get("enum")
        if isinstance(enum, list) and None not in enum:
            found["enum"] = [*enum, None]
        if isinstance(kinds, str):
            return {**found, "type": [kinds, "null"]}
        if "allOf" in found or "anyOf" in found or "oneOf" in found:
            return {"anyOf": [found, {"type": "null"}]}
        return found


def converted(document: Document, *, is_request: bool, build: Callable[[Schemas], JsonObject]) -> JsonObject:
    """Return the result of ``build`` with the deepest level of references that fits. Raises ``LeftOutError``."""
    for depth in (None, 4, 3, 2, 1, 0):
        schemas = Schemas(document, is_request=is_request, depth=depth)
        try:
            return schemas.finish(build(schemas))
        except (OverflowError, RecursionError):
            continue
    raise LeftOutError(f"it has more than {MAX_NODES:,} schemas")


def _choices(value: JsonObject, types: list[JsonValue]) -> JsonObject:
    found: JsonObject = {}
    enum = value.get("enum")
    if isinstance(enum, list):
        fitting = [each for each in enum if not _is_inexact(each) and (not types or _has_type(each, types))]
        unique = {repr(each): each for each in fitting}
        found |= {"enum": [*unique.values()]} if unique else {}
    if "const" in value and not _is_inexact(value["const"]):
        found["const"] = value["const"]
    return found


def _examples(value: JsonObject, found: JsonObject, *, is_request: bool) -> JsonObject:
    """Return the first example of a scalar and its default, as text. A ``default`` in the spec would always be sent."""
    result: JsonObject = {}
    listed = value.get("examples")
    example = value.get("example", listed[0] if isinstance(listed, list) and listed else None)
    if is_request and _is_scalar(example) and "enum" not in found and plainly_satisfies(example, found):
        result["examples"] = [example]
    default = value.get("default")
    if is_request and _is_scalar(default) and default != "":
        text = f"Default: {str(default).lower() if isinstance(default, bool) else default}."
        before = str(found.get("description", ""))
        result["description"] = f"{before.rstrip('.')}. {text}" if before else text
    return result


def _has_type(value: JsonValue, types: list[JsonValue]) -> bool:
    kind = type_of(value)
    return kind in types or (kind in {"integer", "fraction"} and "number" in types)


def _is_scalar(value: JsonValue) -> bool:
    return isinstance(value, str | bool | int | float) and len(str(value)) <= 100 and not _is_inexact(value)


def _is_inexact(value: JsonValue) -> bool:
    return isinstance(value, int | float) and abs(value) > _EXACT


def one_line(value: JsonValue, length: int) -> str:
    """Return a text on one line without zero-width characters, which are common in copied text and invalid in specs."""
    return shorten(" ".join(_NO_WIDTH.sub("", value).split()), length) if isinstance(value, str) else ""


def _with_reference(value: JsonObject) -> JsonObject:
    """Replace an ``allOf`` that has one reference, with texts beside it, by the reference.

    Merging it might not terminate.
    """
    parts = value.get("allOf")
    found: JsonObject = {key: each for key, each in value.items() if key != "allOf"}
    for part in parts if isinstance(parts, list) else []:
        if not isinstance(part, dict) or not found.keys().isdisjoint(part):
            return value
        found |= part
    return found if "$ref" in found and found.keys() <= _TEXTS else value


def _references(schema: JsonValue) -> Iterator[str]:
    """Yield the names of the definitions to which ``schema`` refers."""
    for each in subschemas(schema):
        if isinstance(reference := each.get("$ref"), str):
            yield reference.removeprefix("#/$defs/")


def _inline(value: JsonObject, inlined: Mapping[str, JsonObject]) -> JsonObject:
    """Return a schema in which the definitions ``inlined`` replace the references to them."""
    reference = value.get("$ref")
    name = reference.removeprefix("#/$defs/") if isinstance(reference, str) else ""
    if name in inlined:
        value = inlined[name] | {key: each for key, each in value.items() if key != "$ref"}
        return _inline(value, inlined)
    return map_subschemas(value, lambda each: _inline(each, inlined) if isinstance(each, dict) else each)
