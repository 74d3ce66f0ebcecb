"""The same place in the old and in the new schema, and the old schema with only that place changed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

from toolc.dataclass import dataclass
from toolc.model.json_schema import JsonObject, JsonValue
from toolc.review.contract.movement import Aspect, Direction, SchemaChange
from toolc.review.model.change import Route
from toolc.review.model.schema_node import Node, label


@dataclass(frozen=True, slots=True)
class Place:
    """Two schemas to compare. ``rebuild`` returns the whole old schema with another schema at this place."""

    old: Node
    new: Node
    route: Route
    rebuild: Callable[[JsonValue], JsonValue]

    @property
    def label(self) -> str:
        """A description of the part of a value that the schemas apply to."""
        return label(self.route)

    @property
    def before(self) -> JsonObject:
        """The old schema."""
        return self.old.schema

    @property
    def after(self) -> JsonObject:
        """The new schema."""
        return self.new.schema

    def with_keywords(self, **values: JsonValue) -> JsonValue:
        """Return the whole old schema with these keywords changed at this place. None removes a keyword."""
        kept: JsonObject = {key: value for key, value in self.before.items() if key not in values}
        return self.rebuild(kept | {key: value for key, value in values.items() if value is not None})

    def with_new(self, *keywords: str) -> JsonValue:
        """Return the whole old schema with these keywords as in the new schema."""
        kept: JsonObject = {key: value for key, value in self.before.items() if key not in keywords}
        return self.rebuild(kept | {key: self.after[key] for key in keywords if key in self.after})

    def inner(self, old: JsonValue, new: JsonValue, steps: Route, rebuild: Callable[[JsonValue], JsonValue]) -> Place:
        """Return a place inside this one. ``rebuild`` returns the whole old schema with another schema there."""
        return Place(self.old.inner(old), self.new.inner(new), (*self.route, *steps), rebuild)

    def under(self, keyword: str) -> Place:
        """Return the place of the schema under a keyword. An absent schema allows anything."""
        return self.inner(
            self.before.get(keyword), self.after.get(keyword), (keyword,),
            lambda inner: self.rebuild({**self.before, keyword: inner}),
        )  # fmt: skip

    def change(
        self, aspect: Aspect, direction: Direction, keyword: str, message: str, edited: JsonValue, subject: str = ""
    ) -> SchemaChange:
        """Return the change of a keyword."""
        before, after = self.before.get(keyword), self.after.get(keyword)
        return SchemaChange(aspect, direction, (*self.route, keyword), message, before, after, subject, edited)


Compare: TypeAlias = "Callable[[Place], Iterator[SchemaChange]]"
"""Compares two subschemas."""
