"""Lower a JSON Schema to the subset of a target with a list of passes, which change one subschema after another.

A ``Target`` names its subset in the table of ``keywords`` and its passes, functions of ``passes``. The passes before
``lower_subschemas`` see a subschema as it is in the spec, and the passes after it see its own subschemas lowered.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

from toolc.dataclass import dataclass, field
from toolc.model.json_schema import JsonObject, JsonValue, pointer_tokens
from toolc.providers.json_schema.keywords import Rule, Subset, rules_of
from toolc.providers.json_schema.lowering import LossKind, LossLog
from toolc.providers.json_schema.references import LocatedSchema, Origins, Recursion, References, origin
from toolc.validation.validate import SchemaValidator

MAX_NODES: Final = 5_000
"""The maximum number of lowered subschemas. Any others become ``{}``. References can make a small schema very large.

No provider accepts that many properties.
"""

ROOT: Final = "/parameters"
"""The JSON Pointer of the parameters in a tool."""

SchemaPass: TypeAlias = "Callable[[Node], None]"


class NotStrictError(Exception):
    """Raised for a part of a schema that a strict mode does not support, with its JSON Pointer."""

    def __init__(self, pointer: str, message: str) -> None:
        super().__init__(message)
        self.pointer = pointer

    def add_to(self, losses: LossLog, target: str) -> None:
        """Record that the definition is not strict, and the reason."""
        message = f"{target} does not support {self}; the definition is not strict"
        losses.add(self.pointer, message, kind="not_strict")


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A subset of JSON Schema and the passes that lower to it. ``name`` is its name in losses.

    With ``is_strict``, a keyword for one type, such as ``minimum``, is kept only next to this ``type``, and a schema
    that cannot be lowered raises ``NotStrictError``. ``listed_types`` are the types that values in ``enum`` may have.
    """

    name: str
    subset: Subset
    passes: tuple[SchemaPass, ...]
    is_strict: bool = False
    listed_types: frozenset[str] = frozenset({"boolean", "number", "string"})
    rules: Mapping[str, Rule] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "rules", rules_of(self.subset))


@dataclass(frozen=True, slots=True)
class Place:
    """The location of a subschema.

    ``scope`` is the referenced schema that contains it (``#`` for the root), ``pointer`` its JSON Pointer in the
    tool. ``optional``: a property between the two can be absent. ``inlined`` are the references that were replaced by
    a schema around it.
    """

    pointer: str
    scope: str = "#"
    optional: bool = False
    inlined: frozenset[str] = frozenset()


@dataclass(slots=True)
class Lowering:
    """The state of one schema's lowering. ``names`` has the new names of referenced schemas in ``$defs``."""

    target: Target
    references: References
    losses: LossLog
    recursion: Recursion
    names: dict[str, str] = field(default_factory=dict)
    nodes: int = 0
    _validator: SchemaValidator | None = None

    @property
    def validator(self) -> SchemaValidator:
        """The validator of the original schema."""
        if self._validator is None:
            self._validator = SchemaValidator(self.references.root)
        return self._validator

    def lower(self, schema: JsonValue, place: Place) -> JsonObject:
        """Return ``schema``, the subschema at ``place``, lowered for the target."""
        self.nodes += 1
        if self.nodes > MAX_NODES:
            if self.target.is_strict:
                raise NotStrictError(ROOT, f"more than {MAX_NODES} subschemas")
            self.losses.add(ROOT, f"more than {MAX_NODES} subschemas; the others allow any value")
            return {}
        if not isinstance(schema, dict):
            return self._lower_boolean(schema, place)
        node = Node(dict(schema), place, self)
        for each in self.target.passes:
            each(node)
        return node.schema

    def _lower_boolean(self, schema: JsonValue, place: Place) -> JsonObject:
        if self.target.is_strict:
            raise NotStrictError(place.pointer, "a value without a schema")
        if schema is not False:
            return {}
        message = f"{self.target.name} cannot forbid a value; moved to the description"
        self.losses.add(place.pointer, message, "folded")
        return {"description": "(must not be given)"}


@dataclass(slots=True)
class Node:
    """A subschema that the passes change in place.

    ``folded`` are the keywords that were removed from ``schema``, for its description. ``origins`` has the places in
    the spec of the parts that a pass renamed or moved. ``source`` is the schema before its subschemas were lowered.
    """

    schema: JsonObject
    place: Place
    lowering: Lowering
    folded: JsonObject = field(default_factory=dict)
    origins: Origins = field(default_factory=dict)
    source: JsonObject = field(default_factory=dict)

    @property
    def is_root(self) -> bool:
        """Whether this is the schema of the parameters."""
        return self.place.pointer == ROOT

    @property
    def located(self) -> LocatedSchema:
        """The schema with its place in the tool."""
        return LocatedSchema(self.schema, self.place.pointer, self.origins)

    def pointer(self, *keys: str | int) -> str:
        """Return the JSON Pointer of the value at ``keys`` in the spec."""
        return origin(self.origins, self.place.pointer, keys)

    def rename(self, keyword: str, new: str) -> None:
        """Write ``keyword`` under another name."""
        self.origins[new,] = self.pointer(keyword)
        self.schema[new] = self.schema.pop(keyword)

    def lower_child(self, schema: JsonValue, *keys: str | int, optional: bool = False) -> JsonObject:
        """Return ``schema``, the subschema at ``keys``, lowered. With ``optional``, its value can be absent."""
        place = self.place
        inner = Place(self.pointer(*keys), place.scope, place.optional or optional, place.inlined)
        return self.lowering.lower(schema, inner)

    def report(self, message: str, *keys: str | int, action: str = "changed", kind: LossKind = "part") -> None:
        """Record a loss at ``keys``. ``message`` says what the target does."""
        self.lowering.losses.add(self.pointer(*keys), f"{self.lowering.target.name} {message}", action, kind=kind)

    def fold(self, keyword: str) -> None:
        """Move a keyword to the description, and record the loss."""
        name = pointer_tokens(self.pointer(keyword))[-1]
        value = self.schema.pop(keyword)
        self.folded[name] = self.source.get(keyword, value)
        self.report(f"does not support {name} here; moved to the description", keyword, action="folded")

    def drop(self, keyword: str) -> None:
        """Remove a keyword, and record the loss."""
        del self.schema[keyword]
        self.report(f"does not support {keyword}; dropped", keyword, action="dropped")

    def refuse(self, what: str, *keys: str | int) -> NotStrictError:
        """Return the error for a part at ``keys`` that the target does not support."""
        return NotStrictError(self.pointer(*keys), what)


def lower_schema(schema: JsonObject, target: Target, losses: LossLog) -> JsonObject:
    """Return the parameters' schema for a target, and record every loss.

    If the target is a strict mode that cannot express the schema, raises ``NotStrictError`` and leaves ``losses``
    unchanged.
    """
    references = References(schema, ROOT)
    log = LossLog(losses.tool)
    lowering = Lowering(target, references, log, Recursion(references))
    result = lowering.lower(schema, Place(ROOT))
    definitions: JsonObject = {}
    while waiting := [reference for reference, name in lowering.names.items() if name not in definitions]:
        for reference in waiting:
            place = Place(references.pointer(reference), reference)
            definitions[lowering.names[reference]] = lowering.lower(references.target(reference), place)
    if definitions:
        result["$defs"] = definitions
    losses.extend(log)
    return result
