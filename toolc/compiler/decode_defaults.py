"""``defaults:`` of a file with several tools, merged into each of them.

Maps merge and lists replace, so that an allow-list never grows by merging. What is one thing or another
(a backend's kind, the two forms of parameters) is taken whole from the tool.
"""

from __future__ import annotations

from typing import Final

from toolc.compiler import codes
from toolc.compiler.document import Entry, Mapping, Node
from toolc.compiler.parameters import is_full_schema
from toolc.compiler.reader import Findings

IDENTITY: Final = ("name", "label", "description", "version", "owner", "tags", "deprecated", "aliases")
"""The keys that say which tool it is; they are never defaulted."""


def check_defaults(defaults: Mapping, findings: Findings) -> Mapping:
    """``defaults:`` without the keys that cannot be defaulted; each of those is reported."""
    kept: list[Entry] = []
    for entry in defaults.entries:
        if entry.key in IDENTITY:
            message = f"'{entry.key}' says which tool it is and cannot be defaulted"
            findings.add(codes.BAD_VALUE, message, entry.key_span, f"write '{entry.key}' in each tool")
        else:
            kept.append(entry)
    return Mapping(tuple(kept), defaults.span)


def merge_defaults(defaults: Mapping, tool: Mapping) -> Mapping:
    """The tool with what only ``defaults`` say added; every node keeps its own place."""
    entries: list[Entry] = []
    for entry in tool.entries:
        default = defaults.get(entry.key)
        entries.append(Entry(entry.key, entry.key_span, _merge_key(entry.key, default, entry.value)))
    added = (entry for entry in defaults.entries if tool.entry(entry.key) is None)
    return Mapping((*entries, *added), tool.span)


def _merge_key(key: str, default: Node | None, value: Node) -> Node:
    if not isinstance(default, Mapping) or not isinstance(value, Mapping):
        return value
    if key == "backend" and {entry.key for entry in value.entries} - {entry.key for entry in default.entries}:
        return value
    if key == "parameters" and is_full_schema(default) != is_full_schema(value):
        return value
    return _merge(default, value)


def _merge(default: Mapping, value: Mapping) -> Mapping:
    entries = [
        Entry(entry.key, entry.key_span, _merge_node(default.get(entry.key), entry.value))
        for entry in value.entries
    ]
    added = (entry for entry in default.entries if value.entry(entry.key) is None)
    return Mapping((*entries, *added), value.span)


def _merge_node(default: Node | None, value: Node) -> Node:
    return _merge(default, value) if isinstance(default, Mapping) and isinstance(value, Mapping) else value
