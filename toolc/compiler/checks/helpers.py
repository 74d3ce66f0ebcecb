"""Helpers shared by several checks: the parameters and schemas of a tool, and a quick text search in its file."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from toolc.compiler.located_tool import LocatedTool
from toolc.compiler.schema.parameters import is_full_schema
from toolc.compiler.templates.expressions import argument_names
from toolc.document.nodes import Mapping, MappingEntry, Scalar, Sequence
from toolc.model.source import SourceText
from toolc.model.spec.code_backends import HostFunction, Script, ShellBackend, WhenGroup
from toolc.model.spec.tool import Backend
from toolc.model.text import lazy_re

_IN_LISTS = ("allOf", "anyOf", "oneOf", "prefixItems")
_NAMED = ("properties", "$defs", "definitions", "patternProperties", "dependentSchemas")
_ONE = ("items", "additionalProperties", "contains", "propertyNames", "not", "if", "then", "else")

_HARMLESS_TYPES: Final = ("integer", "number", "boolean", "null")

_RESPELLS: Final = lazy_re(r"\\[xuU\s]")
"""Escapes of YAML and TOML that can make a string differ from its source text."""


def parameters(tool: LocatedTool) -> Iterator[tuple[MappingEntry, Mapping]]:
    """Yield each declared parameter: its entry, whose key is its name, and its schema."""
    node = tool.node.get("parameters")
    if isinstance(node, Mapping) and is_full_schema(node):
        node = node.get("properties")
    for entry in node.entries if isinstance(node, Mapping) else ():
        if isinstance(entry.value, Mapping):
            yield entry, entry.value


def subschemas(schema: Mapping) -> Iterator[Mapping]:
    """Yield ``schema`` and every schema inside it."""
    yield schema
    for entry in schema.entries:
        value = entry.value
        if entry.key in _NAMED and isinstance(value, Mapping):
            inner = tuple(each.value for each in value.entries)
        elif entry.key in _IN_LISTS and isinstance(value, Sequence):
            inner = value.items
        elif entry.key in _ONE:
            inner = (value,)
        else:
            continue
        for each in inner:
            if isinstance(each, Mapping):
                yield from subschemas(each)


def all_subschemas(tool: LocatedTool) -> Iterator[Mapping]:
    """Yield every schema within the tool's ``parameters``."""
    node = tool.node.get("parameters")
    if isinstance(node, Mapping) and is_full_schema(node):
        yield from subschemas(node)
    elif isinstance(node, Mapping):
        for _, schema in parameters(tool):
            yield from subschemas(schema)


def has_type(schema: Mapping, name: str) -> bool:
    """Return whether ``schema`` has ``type: name`` or ``type: [name, "null"]``."""
    kind = schema.get("type")
    types = kind.items if isinstance(kind, Sequence) else (kind,)
    names = [each.value for each in types if isinstance(each, Scalar)]
    return [each for each in names if each != "null"] == [name]


def has_keyword(schema: Mapping, *keywords: str) -> bool:
    """Return whether ``schema`` has one of these keywords."""
    return any(entry.key in keywords for entry in schema.entries)


def text_of(schema: Mapping, keyword: str) -> str:
    """Return the string value of ``keyword``, or an empty string if there is none."""
    node = schema.get(keyword)
    return node.value if isinstance(node, Scalar) and isinstance(node.value, str) else ""


def is_harmless(name: str, tool: LocatedTool) -> bool:
    """Return whether a parameter's value cannot contain code, because it is a number, a boolean or a listed value."""
    schema = tool.spec.all_parameters.properties.get(name, {})
    kind = schema.get("type")
    types = kind if isinstance(kind, list) else [kind]
    return "enum" in schema or "const" in schema or all(each in _HARMLESS_TYPES for each in types)


def used_arguments(backend: Backend | HostFunction) -> frozenset[str]:
    """Return the names of the arguments that a backend uses in templates, in ``when`` groups and in a script."""
    used = argument_names(backend)
    if not isinstance(backend, ShellBackend):
        return used
    if isinstance(backend.command, Script):
        return used | {*re.findall(r"ARG_([A-Za-z_][A-Za-z0-9_]*)", backend.command.text)}
    return used | {each.when for each in backend.command.elements if isinstance(each, WhenGroup)}


def text_may_contain(tool: LocatedTool, parts: tuple[str, ...]) -> bool:
    """Return whether a string of ``tool`` may contain one of ``parts`` (printable ASCII without spaces)."""
    return bool(tool.defaults) or _text_may_contain(tool.source, parts)


# Cached because a file may have thousands of tools.
@lru_cache(maxsize=16)
def _text_may_contain(source: SourceText, parts: tuple[str, ...]) -> bool:
    return any(part in source.text for part in parts) or _may_differ(source)


@lru_cache(maxsize=4)
def _may_differ(source: SourceText) -> bool:
    """Return whether strings may differ from the text of the file, because of escapes or project variables."""
    return "vars" in source.text or bool(_RESPELLS.search(source.text))
