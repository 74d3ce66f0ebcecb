"""Schemas that name an older draft: taken where they mean the same in 2020-12, and kept as 2020-12.

Generators write ``$schema: draft-07`` over schemas that every draft reads alike. Where 2020-12 reads one otherwise
it is refused, at the keyword: nobody should find that out from a call.
"""

from __future__ import annotations

import re
from typing import Final

from toolc.compiler.subschemas import inner_schemas
from toolc.document.map_reader import Findings, first_line, listed
from toolc.document.nodes import Mapping, MappingEntry, Scalar
from toolc.model import codes
from toolc.model.json_schema import JsonObject, JsonValue, map_subschemas

CURRENT: Final = "https://json-schema.org/draft/2020-12/schema"

PATTERN: Final = r"^https?://json-schema\.org/(draft-06|draft-07|draft/2019-09|draft/2020-12)/schema#?$"
"""What ``$schema`` may be."""

_SINCE_2020: Final = frozenset({"$dynamicRef", "prefixItems"})
_SINCE_2019: Final = _SINCE_2020 | {
    "dependentRequired", "dependentSchemas", "maxContains", "minContains", "unevaluatedItems",
    "unevaluatedProperties",
}  # fmt: skip
_UNKNOWN: Final = {
    "draft-06": _SINCE_2019 | {"if", "then", "else"},
    "draft-07": _SINCE_2019,
    "2019-09": _SINCE_2020,
    "2020-12": frozenset[str](),
}
"""Keywords that restrict values in 2020-12 and that a draft does not have."""

_ALONE: Final = frozenset({"draft-06", "draft-07"})
"""Drafts in which what stands beside a ``$ref`` says nothing."""

_RESTRICT_NOTHING: Final = frozenset(
    {
        "$comment", "$defs", "$id", "$ref", "$schema", "default", "definitions", "deprecated", "description",
        "examples", "readOnly", "title", "writeOnly",
    }
)  # fmt: skip
_OLD: Final = "#/definitions/"
_NEW: Final = "#/$defs/"


def check_dialects(schema: Mapping, findings: Findings, draft: str = "2020-12") -> None:
    """Report a dialect that is not known, and what ``schema`` says that 2020-12 reads in another way.

    ``draft`` is that of the schema around it.
    """
    draft = _named_draft(schema, findings) or draft
    for entry in schema.entries:
        why = _differs(entry, schema, draft)
        if why:
            message = f"{why} in {draft}, which $schema names, and restricts values in 2020-12"
            hint = f"if it is meant, leave $schema out: parameters are {CURRENT}; else remove '{entry.key}'"
            findings.add(codes.SCHEMA_TYPE, message, first_line(entry.key_span), hint)
    for inner in inner_schemas(schema):
        check_dialects(inner, findings, draft)


def as_current(schema: JsonObject) -> JsonObject:
    """A schema of any known draft as 2020-12 writes it: without ``$schema``, its definitions under ``$defs``."""
    renames = "definitions" in schema and "$defs" not in schema
    found = _rewritten(schema, renames=renames)
    return {"$defs" if renames and key == "definitions" else key: value for key, value in found.items()}


def _named_draft(schema: Mapping, findings: Findings) -> str | None:
    node = schema.get("$schema")
    if not isinstance(node, Scalar) or not isinstance(node.value, str):
        return None  # the metaschema wants text
    known = re.match(PATTERN, node.value)
    if not known:
        message = "parameters are JSON Schema 2020-12, and this is another dialect"
        hint = f"leave $schema out, or write {CURRENT}; {listed(_UNKNOWN)} are read where they mean the same"
        findings.add(codes.SCHEMA_TYPE, message, node.span, hint)
        return None
    return known[1].removeprefix("draft/")


def _differs(entry: MappingEntry, schema: Mapping, draft: str) -> str:
    """Why 2020-12 reads an entry in another way than ``draft``; empty where it does not."""
    if entry.key in _UNKNOWN[draft]:
        return f"'{entry.key}' says nothing"
    if draft in _ALONE and entry.key not in _RESTRICT_NOTHING and schema.entry("$ref"):
        return "" if entry.key.startswith("x-") else f"'{entry.key}' beside '$ref' says nothing"
    if draft == "2019-09" and entry.key == "contains" and schema.entry("unevaluatedItems"):
        return "'contains' evaluates no item"
    return ""


def _rewritten(schema: JsonObject, *, renames: bool) -> JsonObject:
    def rewrite(inner: JsonValue) -> JsonValue:
        return _rewritten(inner, renames=renames) if isinstance(inner, dict) else inner

    result = map_subschemas(schema, rewrite)
    if isinstance(result.get("$schema"), str):
        del result["$schema"]
    reference = result.get("$ref")
    if renames and isinstance(reference, str) and reference.startswith(_OLD):
        result["$ref"] = _NEW + reference.removeprefix(_OLD)
    return result
