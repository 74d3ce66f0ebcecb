"""Decode parameters with ``from: caller.CLAIM``, which the host fills in. Models do not see them."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from toolc.compiler.schema.parameters import FROM, WITHOUT_PROPERTIES, has_from, parameter_entries
from toolc.document.map_reader import Findings, first_line
from toolc.document.nodes import Mapping, MappingEntry, Node, Scalar
from toolc.document.suggestions import quote_names
from toolc.model import codes
from toolc.model.json_schema import JsonValue, Schema
from toolc.model.spec.tool import CLAIM, CallerParameter
from toolc.model.text import lazy_re

SOURCE: Final = f"^caller\\.{CLAIM[1:]}"
"""The pattern of the value of ``from``."""

KEYWORDS: Final = ("type", "description", "enum", "format", "maxLength", "minLength", "pattern")
"""The keys that such a parameter may have besides ``from``."""

_SOURCE: Final = lazy_re(SOURCE)
_ROOT: Final = WITHOUT_PROPERTIES | {"additionalProperties", "properties"}
"""The keys of a full JSON Schema that cannot contain conditions on such parameters."""


def decode_caller(node: Node | None, whole: Schema, findings: Findings) -> tuple[CallerParameter, ...]:
    """Return the parameters with ``from`` of ``node``, whose schema is ``whole``. Report invalid ones."""
    entries = [each for each in parameter_entries(node) if has_from(each)]
    if not entries:
        return ()
    _check_root(whole, entries[0], findings)
    return tuple(
        CallerParameter(name=each.key, claim=claim, schema=whole.properties.get(each.key, {}))
        for each in sorted(entries, key=lambda each: each.key)
        if (claim := _claim(each, findings)) is not None
    )


def without(names: Collection[str], whole: Schema) -> Schema:
    """Return the schema of the other parameters."""
    if not names:
        return whole
    properties: dict[str, JsonValue] = {name: schema for name, schema in whole.properties.items() if name not in names}
    required: list[JsonValue] = [*sorted(whole.required - {*names})]
    return Schema({**whole.value, "properties": properties, "required": required})


def _check_root(whole: Schema, first: MappingEntry, findings: Findings) -> None:
    """Report a schema that a caller could use to set the parameter, or that shows it to models."""
    conditions = [key for key in whole.value if key not in _ROOT and not key.startswith("x-")]
    if conditions or whole.value.get("additionalProperties") is not False:
        what = quote_names(conditions) if conditions else "'additionalProperties'"
        message = f"parameters with 'from' cannot be next to {what}, which could set or show them"
        findings.add(codes.BAD_VALUE, message, first.key_span, "move the condition into the schema of a parameter")


def _claim(parameter: MappingEntry, findings: Findings) -> str | None:
    """Report invalid keywords in the schema of a parameter, and return the claim that it names."""
    schema = parameter.value
    assert isinstance(schema, Mapping)
    source, kind = schema.get(FROM), schema.get("type")
    assert source is not None
    for each in schema.entries:
        if each.key not in KEYWORDS and each.key != FROM:
            message = f"the parameter '{parameter.key:.64}' has 'from', so it cannot have '{each.key:.60}'"
            hint = f"besides 'from', it can have {quote_names(KEYWORDS)}"
            findings.add(codes.BAD_VALUE, message, each.key_span, hint)
    if not isinstance(kind, Scalar) or kind.value != "string":
        message = f"the parameter '{parameter.key:.64}' has 'from', so it must be a string"
        findings.add(codes.BAD_VALUE, message, first_line(kind.span if kind else schema.span), "write type: string")
    written = source.value if isinstance(source, Scalar) else None
    if not isinstance(written, str) or not _SOURCE.fullmatch(written):
        message = f"'from' of the parameter '{parameter.key:.64}' does not name what is known about the caller"
        hint = "write e.g. from: caller.sub, with the name of a claim, or from: caller.name"
        findings.add(codes.BAD_VALUE, message, first_line(source.span), hint)
        return None
    return written.removeprefix("caller.")
