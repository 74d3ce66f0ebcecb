"""TC303: "one of: open, closed, all" in words where ``enum`` would hold a model to it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from toolc.compiler import codes
from toolc.compiler.decode_tool import LocatedTool
from toolc.compiler.document import Mapping
from toolc.compiler.properties import has_type, parameters, says, text_of
from toolc.compiler.reader import first_line
from toolc.diagnostics import Diagnostic
from toolc.schema import JsonObject

NUMBER: Final = "TC303"

NEEDS: Final = frozenset({"parameters"})


# Compiled where there is a parameter to look at: start-up time.
_LEAD: Final = (
    r"\b(?:one of|any of|(?:allowed|valid|possible|accepted|supported) (?:values?|options?)(?: are| is)?"
    r"|options(?: are)?|must be(?: either)?|can be(?: either)?|either|choices(?: are)?)\b(?P<colon> ?:)? ?"
)
_ITEM: Final = (
    r"(?:'[^'\n]{1,40}'|\"[^\"\n]{1,40}\"|`[^`\n]{1,40}`|[A-Za-z0-9](?:[A-Za-z0-9_.+/-]{0,38}[A-Za-z0-9_+])?)"
)
_MEANING: Final = r"(?: ?\([^()\n]{1,80}\))?"
_BETWEEN: Final = r"(?: ?, ?(?:or |and )?| or | and | ?\| ?)"
_LIST: Final = rf"{_ITEM}{_MEANING}(?:{_BETWEEN}{_ITEM}{_MEANING}){{1,40}}(?=\s*(?:[.;)\]]|\n|$))"
_OPEN: Final = r"\b(?:etc|any other|others?|more|custom|another|omitted|path|name|number|string)\b|…|\.\.\."
_NO_STRINGS: Final = ("boolean", "integer", "null", "number", "object")
_CLOSED_BY: Final = ("enum", "const", "pattern", "format", "$ref", "anyOf", "oneOf", "allOf")


def check(tool: LocatedTool) -> Iterator[Diagnostic]:
    """Each string parameter, or array of strings, whose description lists all it may be."""
    may_be = any(map(_may_be_open, tool.spec.parameters.properties.values()))
    for entry, schema in parameters(tool) if may_be else ():
        text = text_of(schema, "description")
        values = _closed_set(text) if text and _is_open_string(schema) else None
        if values:
            node = schema.get("description")
            assert node is not None
            span = first_line(tool.source.locate(node.span, values))
            message = f"'{entry.key}' is a closed set in words only: {values[:80]}"
            yield Diagnostic(codes.PROSE_ENUM, message, span, "list the values under enum, e.g. enum: [a, b]")


def _may_be_open(schema: JsonObject) -> bool:
    """A glance: many parameters are numbers, or closed anyway."""
    kind = schema.get("type")
    return kind not in _NO_STRINGS and (kind != "string" or not any(key in schema for key in _CLOSED_BY))


def _is_open_string(schema: Mapping) -> bool:
    items = schema.get("items")
    if has_type(schema, "array") and isinstance(items, Mapping):
        schema = items
    return has_type(schema, "string") and not says(schema, *_CLOSED_BY)


def _closed_set(text: str) -> str | None:
    """The list of values that ``text`` gives, as it is written; None where it gives none or an open one."""
    for lead in re.finditer(_LEAD, text, re.IGNORECASE):
        found = re.compile(_LIST).match(text, lead.end())
        if found is None:
            continue
        listed = found[0]
        quoted = listed[0] in "'\"`"
        count = len(re.findall(_BETWEEN, re.sub(r"\([^()]*\)", "", listed))) + 1
        rest = text[found.end() : found.end() + 12]
        # Two bare words may be any sentence ("must be a file or folder"); a colon, quotes or a third make a list.
        is_list = quoted or count >= 3 or bool(lead["colon"])
        if is_list and (quoted or not re.search(_OPEN, listed)) and not re.match(_OPEN, rest.lstrip(" ,;")):
            return listed
    return None
