"""JSON in which strings are templates: an HTTP tool's body, the arguments of a composite's step."""

from __future__ import annotations

from toolc.compiler.templates import Scope, read_template
from toolc.document.map_reader import Findings, mapping
from toolc.document.nodes import Mapping, MappingEntry, Node, Scalar, Sequence
from toolc.model.template import JsonConstant, JsonEntry, JsonList, JsonMap, JsonTemplate


def read_json_template(node: Node, what: str, findings: Findings, scope: Scope) -> JsonTemplate | None:
    """Any JSON; what is wrong in it is reported, and left out."""
    match node:
        case Mapping():
            return read_json_map(node, what, findings, scope)
        case Sequence():
            items = (
                read_json_template(item, f"{what}[{index}]", findings, scope)
                for index, item in enumerate(node.items)
            )
            return JsonList(items=tuple(item for item in items if item is not None))
        case Scalar(value=str()):
            return read_template(node, what, findings, scope)
        case Scalar(value=value):
            return JsonConstant(value=value)


def read_json_map(node: Node, what: str, findings: Findings, scope: Scope) -> JsonMap | None:
    """A map of templates. A key is left out where an argument that its own text names is absent.

    An entry in which anything is wrong is reported, and left out as a whole.
    """
    found = mapping(node, what, findings)
    if found is None:
        return None
    entries = (_entry(entry, f"{what}.{entry.key}", findings, scope) for entry in found.entries)
    kept = (entry for entry in entries if entry is not None)
    return JsonMap(entries=tuple(sorted(kept, key=lambda entry: entry.key)))


def _entry(entry: MappingEntry, what: str, findings: Findings, scope: Scope) -> JsonEntry | None:
    within = scope.omitting() if isinstance(entry.value, Scalar) else scope
    errors = findings.errors
    value = read_json_template(entry.value, what, findings, within)
    return JsonEntry(key=entry.key, value=value) if value is not None and findings.errors == errors else None
