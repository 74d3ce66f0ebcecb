"""Place a schema inside another document, so that its references lead to the same schemas as before."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final
from urllib.parse import quote

from toolc.model.json_schema import (
    LISTS_OF_SCHEMAS,
    MAPS_OF_SCHEMAS,
    SCHEMAS,
    JsonObject,
    JsonValue,
    anchors,
    child_pointer,
    list_under,
    map_subschemas,
    map_under,
    subschemas,
)

_REFERENCES: Final = ("$ref", "$dynamicRef")
_IDENTITY: Final = frozenset({"$anchor", "$dynamicAnchor", "$id"})
_DEPENDS_ON_ROOT: Final = _IDENTITY | {*_REFERENCES}
_FRAGMENT: Final = "/~!$&'()*+,;=:@"
"""The characters besides letters, digits and ``-._`` that a fragment of a URI may contain (RFC 3986, 3.5)."""


def rebase(schema: JsonObject, at: str) -> JsonObject:
    """Return ``schema`` for a document that contains it at ``at``, a reference such as ``#/components/schemas/node``.

    References become JSON Pointers from the root of the document. Anchors and ``$id`` are removed, because two schemas
    in one document could have the same one. A ``$dynamicRef`` becomes a ``$ref``, which has the same meaning in a
    schema that no other schema extends.
    """
    if all(map(_DEPENDS_ON_ROOT.isdisjoint, subschemas(schema))):
        return schema
    named = {name: pointer for pointer, each in located(schema, "") for name in anchors(each) if isinstance(name, str)}

    def moved(inner: JsonValue) -> JsonValue:
        if not isinstance(inner, dict):
            return inner
        result = map_subschemas({key: inner[key] for key in inner.keys() - _IDENTITY - {*_REFERENCES}}, moved)
        references = [_reference(inner[key], named, at) for key in _REFERENCES if key in inner]
        if references:
            result["$ref"] = references[0]
        if len(references) > 1:
            result["allOf"] = [*list_under(result, "allOf"), {"$ref": references[1]}]
        return result

    result = moved(schema)
    assert isinstance(result, dict)
    return result


def _reference(reference: JsonValue, named: dict[str, str], at: str) -> str:
    fragment = str(reference).removeprefix("#")
    if fragment and not fragment.startswith("/"):
        fragment = quote(named[fragment], safe=_FRAGMENT)
    return at + fragment


def located(schema: JsonObject, pointer: str) -> Iterator[tuple[str, JsonObject]]:
    """Yield ``schema`` and the schemas in it, each with its JSON Pointer."""
    yield pointer, schema
    for key, value in schema.items():
        inner: list[tuple[str, JsonValue]] = []
        if key in MAPS_OF_SCHEMAS:
            inner = [(child_pointer(pointer, key, name), each) for name, each in map_under(schema, key).items()]
        elif key in LISTS_OF_SCHEMAS:
            inner = [(child_pointer(pointer, key, at), each) for at, each in enumerate(list_under(schema, key))]
        elif key in SCHEMAS:
            inner = [(child_pointer(pointer, key), value)]
        for where, each in inner:
            if isinstance(each, dict):
                yield from located(each, where)
