"""The schemas within a schema, as nodes of a document."""

from __future__ import annotations

from collections.abc import Iterator

from toolc.document.nodes import Mapping, Node, Sequence
from toolc.model.json_schema import LISTS_OF_SCHEMAS, MAPS_OF_SCHEMAS, SCHEMAS


def inner_schemas(schema: Mapping) -> Iterator[Mapping]:
    """Every schema that stands directly in ``schema`` and is a map."""
    for entry in schema.entries:
        for node in _schemas_under(entry.key, entry.value):
            if isinstance(node, Mapping):
                yield node


def _schemas_under(key: str, value: Node) -> Iterator[Node]:
    if key in MAPS_OF_SCHEMAS and isinstance(value, Mapping):
        yield from (entry.value for entry in value.entries)
    elif key in LISTS_OF_SCHEMAS and isinstance(value, Sequence):
        yield from value.items
    elif key in SCHEMAS:
        yield value
