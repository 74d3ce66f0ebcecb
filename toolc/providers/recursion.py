"""Which references of a schema make a value endless: those that lead back to themselves and cannot be left out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from toolc.model.json_schema import JsonValue
from toolc.providers.merging import merge_all_of
from toolc.providers.references import References


@dataclass(slots=True)
class Recursion:
    """Answers about the references of one root schema, each known by its text, the root itself as ``#``."""

    references: References
    _leads: dict[str, frozenset[str]] = field(default_factory=dict)

    def leads_back(self, reference: str, scope: str) -> bool:
        """Whether the schema of ``reference`` contains that of ``scope`` with no optional property between."""
        seen: set[str] = set()
        pending = [reference]
        while pending:
            current = pending.pop()
            if current == scope:
                return True
            if current not in seen:
                seen.add(current)
                pending.extend(self._leads_to(current))
        return False

    def _leads_to(self, reference: str) -> frozenset[str]:
        if reference not in self._leads:
            self._leads[reference] = frozenset(self._unavoidable(self.references.target(reference)))
        return self._leads[reference]

    def _unavoidable(self, schema: JsonValue) -> Iterator[str]:
        """The references in ``schema`` that stand below no optional property."""
        if not isinstance(schema, dict):
            return
        schema = merge_all_of(schema, self.references)
        if isinstance(reference := schema.get("$ref"), str):
            yield reference
        required, properties = schema.get("required"), schema.get("properties")
        if isinstance(properties, dict) and isinstance(required, list):
            for name in properties.keys() & set(map(str, required)):
                yield from self._unavoidable(properties[name])
        for key in ("items", "additionalProperties"):
            yield from self._unavoidable(schema.get(key))
        for key in ("prefixItems", "anyOf", "oneOf"):
            values = schema.get(key)
            for value in values if isinstance(values, list) else ():
                yield from self._unavoidable(value)
