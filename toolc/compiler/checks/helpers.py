"""Helpers shared by several checks: the parameters and schemas of a tool, and a quick text search in its file."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from toolc.compiler.located_tool import LocatedTool
from toolc.compiler.schema.dialects import schemas_in
from toolc.compiler.schema.parameters import is_full_schema, parameter_entries
from toolc.compiler.templates.expressions import argument_names
from toolc.document.nodes import Mapping, MappingEntry, Scalar, Sequence
from toolc.model.source import SourceText
from toolc.model.spec.code_backends import HostFunction, Script, ShellBackend, WhenGroup
from toolc.model.spec.tool import Backend
from toolc.model.text import lazy_re

_HARMLESS_TYPES: Final = ("integer", "number", "boolean", "null")

_RESPELLS: Final = lazy_re(r"\\[xuU\s]")
"""Escapes of YAML and TOML that can make a string differ from its source text."""


def parameters(tool: LocatedTool) -> Iterator[tuple[MappingEntry, Mapping]]:
    """Yield each declared parameter: its entry, whose key is its name, and its schema."""
    for entry in parameter_entries(tool.node.get("parameters")):
        if isinstance(entry.value, Mapping):
            yield entry, entry.value


def all_subschemas(tool: LocatedTool) -> Iterator[Mapping]:
    """Yield every schema within the tool's ``parameters``."""
    node = tool.node.get("parameters")
    roots = [node] if isinstance(node, Mapping) and is_full_schema(node) else [schema for _, schema in parameters(tool)]
    for root in roots:
        yield from schemas_in(root)


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
