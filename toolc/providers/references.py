"""``$ref`` within one schema: what it means."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from urllib.parse import unquote

from toolc.model.json_schema import JsonObject, JsonValue


def sole_reference(schema: JsonValue) -> str | None:
    """The ``$ref`` of a schema that says nothing else, or None."""
    if isinstance(schema, dict) and len(schema) == 1 and isinstance(reference := schema.get("$ref"), str):
        return reference
    return None


@dataclass(frozen=True, slots=True)
class References:
    """The references of one root schema, by their target as it is written: ``#``, ``#/$defs/node``, ``#anchor``."""

    root: JsonObject
    merged: dict[str, JsonValue] = field(default_factory=dict, compare=False, repr=False)
    """What ``toolc.providers.merging`` made of those that it has met."""

    _recursive: dict[str, bool] = field(default_factory=dict, compare=False, repr=False)

    def target(self, reference: str) -> JsonValue:
        """The schema that ``reference`` names, or None: remote, dangling, or not a schema."""
        if not reference.startswith("#"):
            return None
        fragment = unquote(reference[1:])
        if fragment and not fragment.startswith("/"):
            return next((node for node in _objects(self.root) if node.get("$anchor") == fragment), None)
        found: JsonValue = self.root
        for token in fragment.split("/")[1:]:
            key = token.replace("~1", "/").replace("~0", "~")
            if isinstance(found, dict) and key in found:
                found = found[key]
            elif isinstance(found, list) and key.isdecimal() and int(key) < len(found):
                found = found[int(key)]
            else:
                return None
        return found if isinstance(found, dict | bool) else None

    def is_recursive(self, reference: str) -> bool:
        """Whether the schema that ``reference`` names refers to itself, directly or through others."""
        if reference not in self._recursive:
            self._recursive[reference] = self._leads_back(reference)
        return self._recursive[reference]

    def _leads_back(self, reference: str) -> bool:
        seen: set[str] = set()
        pending = [reference]
        while pending:
            for node in _objects(self.target(pending.pop())):
                inner = node.get("$ref")
                if inner == reference:
                    return True
                if isinstance(inner, str) and inner not in seen:
                    seen.add(inner)
                    pending.append(inner)
        return False


def _objects(value: JsonValue) -> Iterator[JsonObject]:
    if isinstance(value, dict):
        yield value
        for inner in value.values():
            yield from _objects(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _objects(inner)
