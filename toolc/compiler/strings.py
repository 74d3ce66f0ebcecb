"""The strings within a part of a spec, as nodes of a document."""

from __future__ import annotations

from collections.abc import Collection

from toolc.compiler.document import Mapping, Node, Scalar, Sequence


def strings(node: Node | None, passed_over: Collection[str] = ()) -> list[tuple[Scalar, str]]:
    """Every string below ``node`` with what it says, in the order of the file; not what is under some keys."""
    found: list[tuple[Scalar, str]] = []
    _collect(node, passed_over, found)
    return found


def _collect(node: Node | None, passed_over: Collection[str], found: list[tuple[Scalar, str]]) -> None:
    if isinstance(node, Scalar):
        if isinstance(node.value, str):
            found.append((node, node.value))
    elif isinstance(node, Mapping):
        for key, _, value in node.entries:
            if key not in passed_over:
                _collect(value, passed_over, found)
    elif isinstance(node, Sequence):
        for item in node.items:
            _collect(item, passed_over, found)
