"""``defaults:`` of a project, or of a file with several tools, merged into each tool.

Maps merge and lists replace, so that an allow-list never grows by merging. What is one thing or another
(a backend's kind, the two forms of parameters) is taken whole from the tool.
"""

from __future__ import annotations

from typing import Final

from toolc.compiler.parameters import is_full_schema
from toolc.document.map_reader import Findings
from toolc.document.nodes import Mapping, MappingEntry, Node
from toolc.model import codes

IDENTITY: Final = ("name", "label", "description", "version", "owner", "tags", "deprecated", "aliases")
"""The keys that say which tool it is; they are never defaulted."""

_CHOICES: Final = {
    ("backend", "shell"): frozenset({"argv", "script", "file"}),
    ("backend", "python"): frozenset({"file", "code"}),
    ("backend", "http"): frozenset({"url", "url_from_argument"}),
    ("backend", "http", "body"): frozenset({"json", "form", "multipart", "text"}),
    ("backend", "http", "auth"): frozenset({"bearer", "basic", "api_key", "oauth2"}),
    ("sandbox",): frozenset({"image", "build"}),
}
"""Keys of which a map has one: whichever the tool names drops the default's."""


def check_defaults(defaults: Mapping, findings: Findings) -> Mapping:
    """``defaults:`` without the keys that cannot be defaulted; each of those is reported."""
    kept: list[MappingEntry] = []
    for entry in defaults.entries:
        if entry.key in IDENTITY:
            message = f"'{entry.key}' says which tool it is and cannot be defaulted"
            findings.add(codes.BAD_VALUE, message, entry.key_span, f"write '{entry.key}' in each tool")
        else:
            kept.append(entry)
    return Mapping.of(kept, defaults)


def merge_defaults(defaults: Mapping, tool: Mapping) -> Mapping:
    """The tool with what only ``defaults`` say added; every node keeps its own place."""
    return _merge(defaults, tool, ())


def _merge(default: Mapping, value: Mapping, route: tuple[str, ...]) -> Mapping:
    given = {entry.key for entry in value.entries}
    choice = _CHOICES.get(route, frozenset())
    left_out = given | (choice if given & choice else frozenset())
    entries = (
        MappingEntry(
            entry.key, entry.key_span, _merge_value(default.get(entry.key), entry.value, (*route, entry.key))
        )
        for entry in value.entries
    )
    added = (entry for entry in default.entries if entry.key not in left_out)
    return Mapping.of((*entries, *added), value)


def _merge_value(default: Node | None, value: Node, route: tuple[str, ...]) -> Node:
    if not isinstance(default, Mapping) or not isinstance(value, Mapping):
        return value
    if route == ("backend",) and {entry.key for entry in value.entries} - {entry.key for entry in default.entries}:
        return value
    if route == ("parameters",) and is_full_schema(default) != is_full_schema(value):
        return value
    return _merge(default, value, route)
