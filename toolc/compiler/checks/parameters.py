"""Checks of parameters: TC303 (enums), TC308 (bounds), TC311 (objects) and TC406 (unused parameters)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from toolc.compiler.checks.check_registry import tool_check
from toolc.compiler.checks.helpers import has_keyword, has_type, parameters, text_of, used_arguments
from toolc.compiler.located_tool import LocatedTool
from toolc.compiler.schema.parameters import parameter_entries
from toolc.compiler.templates.expressions import argument_names
from toolc.document.map_reader import first_line
from toolc.document.nodes import Mapping
from toolc.model import codes
from toolc.model.diagnostics import Diagnostic
from toolc.model.json_schema import JsonObject
from toolc.model.spec.code_backends import PluginBackend, PythonBackend, Script, ShellBackend
from toolc.model.text import lazy_re

# Compiled only if there is a parameter to check: start-up time.
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

_ARGUMENT: Final = lazy_re(r"args(?:\.|\[['\"])([A-Za-z_][A-Za-z0-9_]*)")

_DECLARING_KEYWORDS: Final = (
    "properties", "additionalProperties", "patternProperties", "propertyNames", "unevaluatedProperties", "$ref",
    "enum", "const", "anyOf", "oneOf", "allOf", "required", "if",
)  # fmt: skip

_BOUNDING_KEYWORDS: Final = ("enum", "const", "$ref", "anyOf", "oneOf", "allOf")


@tool_check("TC303", needs={"parameters"})
def check_enums_in_prose(tool: LocatedTool) -> Iterator[Diagnostic]:
    """Report each string parameter, or array of strings, whose description lists all allowed values."""
    may_be = any(map(_may_be_open, tool.spec.parameters.properties.values()))
    for entry, schema in parameters(tool) if may_be else ():
        text = text_of(schema, "description")
        values = _closed_set(text) if text and _is_open_string(schema) else None
        if values:
            node = schema.get("description")
            assert node is not None
            span = first_line(tool.source.locate(node.span, values))
            message = f"the allowed values of '{entry.key}' are only in its description: {values[:80]}"
            yield Diagnostic(codes.PROSE_ENUM, message, span, "list the values under enum, e.g. enum: [a, b]")


def _may_be_open(schema: JsonObject) -> bool:
    """Return whether the parameter can be a string with any value. This quick test excludes most parameters."""
    kind = schema.get("type")
    return kind not in _NO_STRINGS and (kind != "string" or not any(key in schema for key in _CLOSED_BY))


def _is_open_string(schema: Mapping) -> bool:
    items = schema.get("items")
    if has_type(schema, "array") and isinstance(items, Mapping):
        schema = items
    return has_type(schema, "string") and not has_keyword(schema, *_CLOSED_BY)


def _closed_set(text: str) -> str | None:
    """Return the list of values in ``text`` as written, or None if there is no list or it is not complete."""
    for lead in re.finditer(_LEAD, text, re.IGNORECASE):
        match = re.compile(_LIST).match(text, lead.end())
        if match is None:
            continue
        listed = match[0]
        quoted = listed[0] in "'\"`"
        count = len(re.findall(_BETWEEN, re.sub(r"\([^()]*\)", "", listed))) + 1
        rest = text[match.end() : match.end() + 12]  # the longest word of ``_OPEN`` fits
        # Two bare words occur in any sentence ("must be a file or folder"). A list has a colon, quotes or a third
        # word.
        is_list = quoted or count >= 3 or bool(lead["colon"])
        if is_list and (quoted or not re.search(_OPEN, listed)) and not re.match(_OPEN, rest.lstrip(" ,;")):
            return listed
    return None


@tool_check("TC406", needs={"backend", "parameters", "result"})
def check_unused_parameters(tool: LocatedTool) -> Iterator[Diagnostic]:
    """Report each unused parameter. TC411 checks Python functions. Processes and agents receive all parameters."""
    backend = tool.spec.backend
    if isinstance(backend, PythonBackend | PluginBackend) or backend.tag in {"agent", "mcp"}:
        return
    used = used_arguments(backend)
    if used.issuperset(tool.spec.all_parameters.properties):
        return
    used |= argument_names(tool.spec.result) | frozenset(_ARGUMENT.findall(tool.spec.result.template or ""))
    if backend.tag == "composite":
        used |= frozenset(name for step in backend.steps for name in _ARGUMENT.findall(step.condition or ""))
    spans = {entry.key: entry.key_span for entry in parameter_entries(tool.node.get("parameters"))}
    for name in sorted(tool.spec.all_parameters.properties):
        if name not in used:
            span = spans.get(name) or tool.span("parameters")
            is_script = isinstance(backend, ShellBackend) and isinstance(backend.command, Script)
            hint = f'use it as "$ARG_{name}"' if is_script else f"use it as {{{{ {name} }}}}"
            yield Diagnostic(
                codes.UNUSED_PARAMETER, f"the parameter '{name}' is not used", span, f"{hint}, or remove it"
            )


@tool_check("TC311", needs={"parameters"})
def check_free_form_objects(tool: LocatedTool) -> Iterator[Diagnostic]:
    """Report each parameter that is an object, or a list of objects, without declared properties."""
    may_be = any(map(_may_be_free_form, tool.spec.parameters.properties.values()))
    for entry, schema in parameters(tool) if may_be else ():
        items = schema.get("items")
        inner = items if has_type(schema, "array") and isinstance(items, Mapping) else schema
        if has_type(inner, "object") and not has_keyword(inner, *_DECLARING_KEYWORDS):
            kind = inner.get("type")
            assert kind is not None
            what = f"'{entry.key}'" if inner is schema else f"each item of '{entry.key}'"
            message = f"{what} is an object without declared properties"
            hint = "declare its keys under properties, or its values with additionalProperties"
            yield Diagnostic(codes.FREE_FORM, message, kind.span, hint)


def _may_be_free_form(schema: JsonObject) -> bool:
    """Return whether the parameter can be a free-form object. This quick test excludes most parameters."""
    kind = schema.get("type")
    return isinstance(kind, list) or kind in {"object", "array"}


@tool_check("TC308", needs={"backend", "parameters"})
def check_unbounded_parameters(tool: LocatedTool) -> Iterator[Diagnostic]:
    """Report each parameter without a bound that is used in a command, a script or a URL. Off by default."""
    if isinstance(tool.spec.backend, PythonBackend):
        return
    for entry, schema in parameters(tool):
        if has_keyword(schema, *_BOUNDING_KEYWORDS):
            continue
        missing = ""
        if has_type(schema, "string") and not has_keyword(schema, "maxLength", "pattern", "format"):
            missing = "maxLength"
        elif has_type(schema, "array") and not has_keyword(schema, "maxItems"):
            missing = "maxItems"
        elif has_type(schema, "integer") or has_type(schema, "number"):
            upper = has_keyword(schema, "maximum", "exclusiveMaximum")
            lower = has_keyword(schema, "minimum", "exclusiveMinimum")
            missing = "" if upper and lower else "minimum" if upper else "maximum"
        if missing:
            message = f"the parameter '{entry.key}' has no bound"
            yield Diagnostic(codes.UNBOUNDED, message, entry.key_span, f"add {missing}, or list the values under enum")
