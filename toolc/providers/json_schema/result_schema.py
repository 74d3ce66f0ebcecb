"""Two forms of ``result.schema``, the schema of a tool's data: a short form for descriptions, and an object's schema.

The short form looks like a TypeScript type: ``{id: integer, tags?: string[], state: "open" | "closed"}``.
"""

from __future__ import annotations

import json
import re
from contextlib import suppress
from typing import Final

from toolc.dataclass import dataclass
from toolc.model.json_schema import JsonObject, JsonValue, list_under, map_subschemas, map_under, types_of
from toolc.model.spec.tool import ToolSpec
from toolc.model.text import lazy_re
from toolc.providers.json_schema.embedding import rebase
from toolc.providers.json_schema.references import References, merge_all_of

MAX_SHORT_FORM: Final = 400
"""The maximum number of characters of a short form. Inner objects are left out until it fits.

This is about a hundred tokens in each request.
"""

MAX_DEPTH: Final = 6
MAX_CHOICES: Final = 12
"""The maximum levels of objects and values of an ``enum`` in a short form. Beyond them, only the type is shown."""

WRAPPED: Final = "result"
"""The property that contains the data if it may not be an object, in a protocol that accepts only objects."""

_NAME: Final = lazy_re(r"[A-Za-z_$][A-Za-z0-9_$]*")


def model_reads_data(tool: ToolSpec) -> bool:
    """Return whether a model reads the data that the tool's result schema describes, and not a template's text."""
    return tool.result_schema is not None and tool.result.template is None


def with_result(text: str, tool: ToolSpec, limit: int) -> str:
    """Return a description with a sentence about the data that a model reads, if both fit into ``limit`` characters."""
    if tool.result_schema is None or not model_reads_data(tool):
        return text
    start = f"{text}{'.' if text[-1].isalnum() else ''} Returns JSON: "
    short = short_form(tool.result_schema.value, min(MAX_SHORT_FORM, limit - len(start)))
    return f"{start}{short}" if short else text


def short_form(schema: JsonObject, limit: int = MAX_SHORT_FORM) -> str:
    """Return the short form of a schema with as many levels of objects as fit, or an empty text if none fits."""
    for depth in range(MAX_DEPTH, -1, -1):
        with suppress(_TooLongError):
            text = _ShortForm(References(schema), limit).type_of(schema, depth)
            if len(text) <= limit:
                return text
    return ""


def is_wrapped(schema: JsonObject) -> bool:
    """Return whether data with this schema is wrapped in an object, because it may not be one."""
    return not _is_object(schema, References(schema))


def as_object(schema: JsonObject) -> JsonObject:
    """Return the schema of the data for MCP clients. Its root has ``type: object``, or it is wrapped in an object.

    The MCP SDK for TypeScript reads schemas as draft-07, which has no anchors and no ``prefixItems``. Anchors are
    therefore replaced, and ``items`` next to ``prefixItems`` accepts all items.
    """
    if not is_wrapped(schema):
        return {**_with_open_tuples(rebase(schema, "#")), "type": "object"}
    properties: JsonObject = {WRAPPED: _with_open_tuples(rebase(schema, f"#/properties/{WRAPPED}"))}
    return {"type": "object", "properties": properties, "required": [WRAPPED]}


def _with_open_tuples(schema: JsonObject) -> JsonObject:
    result = map_subschemas(schema, lambda inner: _with_open_tuples(inner) if isinstance(inner, dict) else inner)
    first, items = list_under(result, "prefixItems"), result.get("items", True)
    if first and items is False:
        del result["items"]
        most = result.get("maxItems")
        result["maxItems"] = min(most, len(first)) if isinstance(most, int) else len(first)
    elif first and items is not True:
        result["items"] = {"anyOf": [items, *first]}
    return result


def _is_object(schema: JsonValue, references: References, seen: frozenset[str] = frozenset()) -> bool:
    """Return whether every valid value is certainly an object."""
    if not isinstance(schema, dict):
        return False
    if types_of(schema):
        return types_of(schema) == ["object"]
    values = [schema["const"]] if "const" in schema else list_under(schema, "enum")
    if values:
        return all(isinstance(each, dict) for each in values)
    reference = schema.get("$ref")
    if isinstance(reference, str) and reference not in seen:
        return _is_object(references.target(reference), references, seen | {reference})
    if any(_is_object(each, references, seen) for each in list_under(schema, "allOf")):
        return True
    for keyword in ("anyOf", "oneOf"):
        if choices := list_under(schema, keyword):
            return all(_is_object(each, references, seen) for each in choices)
    return False


class _TooLongError(Exception):
    """Raised if a short form has more parts than it may have characters."""


@dataclass(slots=True)
class _ShortForm:
    references: References
    parts_left: int

    def type_of(self, schema: JsonValue, depth: int) -> str:
        """Return the short form of a subschema, with objects of at most ``depth`` levels."""
        # References can make a small schema very large.
        self.parts_left -= 1
        if self.parts_left < 0:
            raise _TooLongError
        if schema is False:
            return "never"
        if not isinstance(schema, dict):
            return "any"
        schema = merge_all_of(schema, self.references)
        if isinstance(reference := schema.get("$ref"), str):
            return self.type_of(self.references.target(reference), depth - 1) if depth >= 0 else "any"
        values = [schema["const"]] if "const" in schema else list_under(schema, "enum")
        if values and len(values) <= MAX_CHOICES:
            return " | ".join(json.dumps(each, ensure_ascii=False) for each in values)
        choices = list_under(schema, "anyOf") or list_under(schema, "oneOf")
        if choices and not types_of(schema):
            return " | ".join(dict.fromkeys(self.type_of(each, depth) for each in choices))
        if "allOf" in schema and not types_of(schema):
            return " & ".join(self._grouped(each, depth) for each in list_under(schema, "allOf"))
        return " | ".join(self._one_type(kind, schema, depth) for kind in types_of(schema)) or "any"

    def _one_type(self, kind: str, schema: JsonObject, depth: int) -> str:
        match kind:
            case "object":
                return self._object(schema, depth)
            case "array":
                return self._array(schema, depth)
            case "string" if isinstance(schema.get("format"), str):
                return f"string ({schema['format']})"
            case _:
                return kind

    def _object(self, schema: JsonObject, depth: int) -> str:
        properties, beyond = map_under(schema, "properties"), schema.get("additionalProperties")
        if depth <= 0 or not (properties or isinstance(beyond, dict)):
            return "object"
        required = list_under(schema, "required")
        shown = [
            f"{name if _NAME.fullmatch(name) else json.dumps(name, ensure_ascii=False)}"
            f"{'' if name in required else '?'}: {self.type_of(each, depth - 1)}"
            for name, each in sorted(properties.items())
        ]
        if isinstance(beyond, dict):
            shown.append(f"[key: string]: {self.type_of(beyond, depth - 1)}")
        return "{" + ", ".join(shown) + "}"

    def _array(self, schema: JsonObject, depth: int) -> str:
        first = [self.type_of(each, depth) for each in list_under(schema, "prefixItems")]
        items = schema.get("items", True)
        if not first:
            return "array" if items is True or items == {} else f"{self._grouped(items, depth)}[]"
        rest = [] if items is False else [f"...{self._grouped(items, depth)}[]"]
        return f"[{', '.join([*first, *rest])}]"

    def _grouped(self, schema: JsonValue, depth: int) -> str:
        """Return a short form that can be followed by ``[]``."""
        text = self.type_of(schema, depth)
        is_union = isinstance(schema, dict) and " " in text and not text.startswith("{")
        return f"({text})" if is_union or " | " in re.sub(r"\{.*\}", "", text) else text
