"""Compare the keywords of objects and arrays, combined schemas such as ``anyOf``, and the schemas inside them.

The changes are described as a reader of both schemas would see them. Other modules decide whether a change refuses a
value. A change without an effect may therefore be listed, but its place and its message must be right.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator
from itertools import chain
from typing import Final

from toolc.dataclass import dataclass, field, replace
from toolc.model.json_schema import JsonObject, JsonValue, list_under, map_under
from toolc.review.contract import bounds
from toolc.review.contract.movement import Aspect, Direction, SchemaChange, narrower_if
from toolc.review.contract.places import Compare, Place
from toolc.review.contract.simplified import simplified, with_shared_types
from toolc.review.model.change import Route
from toolc.review.model.schema_node import Node, is_same, label, short_json
from toolc.validation.witness.joined import Joined

_CONDITIONS: Final = ("propertyNames", "contains", "unevaluatedItems", "unevaluatedProperties", "contentSchema")
"""Keywords that contain one schema. Except for ``contains``, their absence means ``true``."""

_REST: Final = ("unevaluatedItems", "unevaluatedProperties")

MAX_DEPTH: Final = 128
"""How many levels below the root schemas are compared. Deeper differences are reported as one change.

A spec has at most 100 levels, and references can add more.
"""


def schema_changes(joined: Joined) -> tuple[SchemaChange, ...]:
    """Return all changes from the old schema to the new one."""
    if is_same(joined.old, joined.new):
        return ()
    top = Node(joined.root, {})
    place = Place(top.inner(joined.old), top.inner(joined.new), (), lambda schema: schema)
    return tuple(
        replace(each, before=joined.written(each.before), after=joined.written(each.after))
        for each in _Comparison(joined).compare(place)
    )


@dataclass(frozen=True, slots=True)
class _Comparison:
    """The pairs of schemas compared so far, by identity, so that comparing recursive schemas ends."""

    joined: Joined
    seen: set[tuple[int, int]] = field(default_factory=set)

    def compare(self, place: Place) -> Iterator[SchemaChange]:
        if is_same(place.before, place.after):
            return
        pair = (id(place.old.original), id(place.new.original))
        if pair in self.seen:
            return
        if len(place.route) > MAX_DEPTH:
            message = f"{place.label}: a schema nested deeper than {MAX_DEPTH} levels changed"
            edited = place.rebuild(place.after)
            yield SchemaChange(Aspect.REFERENCE, Direction.NARROWER, place.route, message, edited=edited)
            return
        self.seen.add(pair)
        if exchanged := _exchanged(place):
            place, change = exchanged
            yield change
        place = with_shared_types(simplified(place))
        yield from bounds.keyword_changes(place)
        yield from object_changes(place, self.compare)
        for keyword in ("anyOf", "oneOf", "allOf"):
            yield from self._combined(keyword, place)
        yield from _not(place, self.compare)
        yield from _conditional(place)

    def _combined(self, keyword: str, place: Place) -> Iterator[SchemaChange]:
        """Yield the changes of ``anyOf``, ``oneOf`` or ``allOf``."""
        is_all = keyword == "allOf"
        before, after = list_under(place.before, keyword), list_under(place.after, keyword)
        if bool(before) != bool(after) and not is_all:
            verb = "must now match" if after else "need no longer match"
            message = f"{place.label} {verb} one of several schemas ({keyword})"
            edited = place.with_new(keyword)
            yield place.change(Aspect.ALTERNATIVE, narrower_if(bool(after)), keyword, message, edited)
            return
        removed, added = self._unmatched(before, after)
        for one, other in zip(removed, added, strict=False):
            yield from self.compare(_alternative(keyword, place, one, other))
        aspect, noun = (Aspect.ALL_OF, "a schema") if is_all else (Aspect.ALTERNATIVE, "an alternative")
        left = [(index, False) for index in removed[len(added) :]] + [(index, True) for index in added[len(removed) :]]
        for index, is_added in left:
            rest = [*before, after[index]] if is_added else [*before[:index], *before[index + 1 :]]
            edited = place.with_keywords(**{keyword: rest}) if rest else place.with_new(keyword)
            message = f"{place.label}: {noun} was {'added' if is_added else 'removed'} ({keyword})"
            old, new = (None, after[index]) if is_added else (before[index], None)
            where = (*place.route, keyword, index)
            yield SchemaChange(aspect, narrower_if(is_added is is_all), where, message, old, new, edited=edited)

    def _unmatched(self, before: list[JsonValue], after: list[JsonValue]) -> tuple[list[int], list[int]]:
        """Return the indices of the items that exist on only one side, ignoring order and annotations."""
        unmatched: defaultdict[str, deque[int]] = defaultdict(deque)
        for index, each in enumerate(after):
            unmatched[self.joined.key(each)].append(index)
        removed: list[int] = []
        for index, each in enumerate(before):
            if same := unmatched.get(self.joined.key(each)):
                same.popleft()
            else:
                removed.append(index)
        return removed, sorted(chain.from_iterable(unmatched.values()))


def _exchanged(place: Place) -> tuple[Place, SchemaChange] | None:
    """Return the change from ``anyOf`` to ``oneOf`` or back, and the place with the earlier keyword on both sides."""
    for keyword, other in (("anyOf", "oneOf"), ("oneOf", "anyOf")):
        before, after = place.before, place.after
        if keyword not in before or other not in after or other in before or keyword in after:
            continue
        verb = "must now match exactly" if other == "oneOf" else "may now match more than"
        message = f"{place.label} {verb} one of several schemas ({other} instead of {keyword})"
        edited = place.rebuild({other if key == keyword else key: value for key, value in before.items()})
        where = (*place.route, other)
        direction = narrower_if(other == "oneOf")
        change = SchemaChange(
            Aspect.ALTERNATIVE, direction, where, message, before[keyword], after[other], edited=edited
        )
        renamed = {keyword if key == other else key: value for key, value in after.items()}
        return replace(place, new=replace(place.new, schema=renamed)), change
    return None


def _alternative(keyword: str, place: Place, one: int, other: int) -> Place:
    """Return the place of alternative ``one`` of the old schema and alternative ``other`` of the new one."""
    before, after = list_under(place.before, keyword), list_under(place.after, keyword)

    def rebuild(inner: JsonValue) -> JsonValue:
        return place.with_keywords(**{keyword: [*before[:one], inner, *before[one + 1 :]]})

    return place.inner(before[one], after[other], (keyword, other), rebuild)


def object_changes(place: Place, compare: Compare) -> Iterator[SchemaChange]:
    """Yield the changes of properties, items and their dependencies."""
    yield from _properties(place, compare)
    yield from _required(place)
    yield from _additional_properties(place, compare)
    yield from _keyed_conditions(place, compare)
    yield from _items(place, compare)
    relevant = replace(place, old=_without_plain_names(place.old), new=_without_plain_names(place.new))
    for keyword in _CONDITIONS:
        yield from _condition(keyword, relevant, compare)


def _properties(place: Place, compare: Compare) -> Iterator[SchemaChange]:
    before, after = map_under(place.before, "properties"), map_under(place.after, "properties")
    moved = _names_in_parts(place.new) if before.keys() - after.keys() else set()
    for name in dict.fromkeys([*before, *after]):
        where = (*place.route, "properties", name)
        if name in before and name in after:
            is_required = name in _required_names(place.before)
            for each in compare(_named(place, "properties", name)):
                # A new default affects no call that had to give a value.
                is_unused = is_required and each.route == (*where, "default") and each.before is None
                yield replace(each, direction=Direction.WIDER) if is_unused else each
        elif name in after:
            direction = narrower_if(not is_closed(place.before))
            edited = place.with_keywords(properties={**before, name: after[name]})
            message = f"{label(where)} was added"
            yield SchemaChange(Aspect.PROPERTY_ADDED, direction, where, message, None, after[name], edited=edited)
        else:
            is_refused = is_closed(place.after)
            direction = narrower_if(is_refused)
            message = f"{label(where)} was removed" + (", and other names are rejected" if is_refused else "")
            if name in moved:
                direction, message = Direction.OTHER, f"{label(where)} is now in a subschema"
            edited = _without_name(place, "properties", name)
            if is_refused and not is_closed(place.before):
                closing = ("additionalProperties", "unevaluatedProperties")
                kept = {each: inner for each, inner in before.items() if each != name}
                edited = place.with_keywords(properties=kept, **{each: place.after.get(each) for each in closing})
            yield SchemaChange(Aspect.PROPERTY_REMOVED, direction, where, message, before[name], None, edited=edited)


def _names_in_parts(node: Node) -> set[str]:
    """Return the properties that the parts of a schema list, such as the alternatives of ``anyOf``."""
    names: set[str] = set()
    seen: set[int] = set()
    left = [node]
    while left:
        schema = (place := left.pop()).schema
        parts = [each for keyword in ("allOf", "anyOf", "oneOf") for each in list_under(schema, keyword)]
        parts += [schema[keyword] for keyword in ("not", "if", "then", "else") if keyword in schema]
        for each in (*parts, *map_under(schema, "dependentSchemas").values()):
            if id(each) not in seen:
                seen.add(id(each))
                left.append(place.inner(each))
                names |= map_under(left[-1].schema, "properties").keys()
    return names


def _named(place: Place, keyword: str, name: str) -> Place:
    """Return the place of a schema in a map of schemas, such as ``properties``."""
    before, after = map_under(place.before, keyword), map_under(place.after, keyword)

    def rebuild(inner: JsonValue) -> JsonValue:
        return place.with_keywords(**{keyword: {**before, name: inner}})

    return place.inner(before[name], after[name], (keyword, name), rebuild)


def _without_name(place: Place, keyword: str, name: str) -> JsonValue:
    kept = {each: inner for each, inner in map_under(place.before, keyword).items() if each != name}
    return place.with_keywords(**{keyword: kept})


def is_closed(schema: JsonObject) -> bool:
    """Return whether an object may have only named properties."""
    return any(schema.get(keyword) is False for keyword in ("additionalProperties", "unevaluatedProperties"))


def _required(place: Place) -> Iterator[SchemaChange]:
    before, after = _required_names(place.before), _required_names(place.after)
    earlier = map_under(place.before, "properties")
    for name in dict.fromkeys([*after, *before]):
        if name in after and name in before:
            continue
        is_added = name in after and name not in earlier and name in map_under(place.after, "properties")
        words = "was added and is required" if is_added else f"is now {'required' if name in after else 'optional'}"
        required: list[JsonValue] = [*(each for each in before if each != name), *[name] * (name in after)]
        message, edited = f"{label((*place.route, 'properties', name))} {words}", place.with_keywords(required=required)
        yield place.change(Aspect.REQUIRED, narrower_if(name in after), "required", message, edited, name)


def _additional_properties(place: Place, compare: Compare) -> Iterator[SchemaChange]:
    """Yield the changes of ``additionalProperties``: the values of properties that are not listed."""
    keyword = "additionalProperties"
    before, after = place.before.get(keyword), place.after.get(keyword)
    if (before is False) != (after is False):
        message = f"{place.label} {'no longer allows' if after is False else 'now allows'} other properties"
        yield place.change(Aspect.CLOSED, narrower_if(after is False), keyword, message, place.with_new(keyword))
    elif (keyword in place.before) != (keyword in place.after) and _limits_others(place):
        effect = "was added, so it evaluates" if keyword in place.after else "was removed, so it no longer evaluates"
        message = f"{place.label}: {keyword} {effect} other names"
        direction = narrower_if(keyword not in place.after)
        yield place.change(Aspect.CLOSED, direction, keyword, message, place.with_new(keyword))
    elif before is not False:
        yield from compare(place.under(keyword))


def _limits_others(place: Place) -> bool:
    """Return whether ``unevaluatedProperties`` or ``unevaluatedItems`` makes the presence of a keyword matter."""
    return any(schema.get(keyword, True) is not True for schema in (place.before, place.after) for keyword in _REST)


def _keyed_conditions(place: Place, compare: Compare) -> Iterator[SchemaChange]:
    """Yield the changes of ``patternProperties``, ``dependentSchemas`` and ``dependentRequired``."""
    for keyword in ("patternProperties", "dependentSchemas", "dependentRequired"):
        before, after = map_under(place.before, keyword), map_under(place.after, keyword)
        for name in dict.fromkeys([*before, *after]):
            where = (*place.route, keyword, name)
            one, other = before.get(name), after.get(name)
            if name in before and name in after and keyword != "dependentRequired":
                yield from compare(_named(place, keyword, name))
                continue
            edited = _without_name(place, keyword, name)
            if name in after:
                edited = place.with_keywords(**{keyword: {**before, name: other}})
            if keyword == "patternProperties" and (_is_limited(place.before) or _is_limited(place.after)):
                yield from _name_pattern(name, place, where, edited)
                continue
            if name not in before or (name in after and _exceeds(other, one)):
                message = f"{place.label}: a condition was added ({keyword})"
                yield SchemaChange(Aspect.CONDITION, Direction.NARROWER, where, message, one, other, edited=edited)
            if name not in after or (name in before and keyword == "dependentRequired" and _exceeds(one, other)):
                message = f"{place.label}: a condition was removed ({keyword})"
                yield SchemaChange(Aspect.CONDITION, Direction.WIDER, where, message, one, other, edited=edited)


def _name_pattern(name: str, place: Place, where: Route, edited: JsonValue) -> Iterator[SchemaChange]:
    """Yield an added or removed name pattern if other names are limited, so that another rule applies to the names."""
    before, after = (map_under(schema, "patternProperties").get(name) for schema in (place.before, place.after))
    message = f"{place.label}: properties that match {short_json(name)} now allow"
    for direction, verb in ((Direction.NARROWER, "fewer values"), (Direction.WIDER, "more values")):
        yield SchemaChange(Aspect.CONDITION, direction, where, f"{message} {verb}", before, after, edited=edited)


def _is_limited(schema: JsonObject) -> bool:
    """Return whether the values of properties that are not listed are restricted."""
    others = ("additionalProperties", "unevaluatedProperties")
    return any(schema.get(keyword, True) is not True for keyword in others)


def _exceeds(one: JsonValue, other: JsonValue) -> bool:
    """Return whether the first list contains a name that the second does not."""
    return isinstance(one, list) and isinstance(other, list) and any(each not in other for each in one)


def _items(place: Place, compare: Compare) -> Iterator[SchemaChange]:
    before, after = list_under(place.before, "prefixItems"), list_under(place.after, "prefixItems")
    rest = (place.before.get("items", True), place.after.get("items", True))
    for index in range(max(len(before), len(after))):
        one = before[index] if index < len(before) else rest[0]
        two = after[index] if index < len(after) else rest[1]

        def rebuild(inner: JsonValue, index: int = index) -> JsonValue:
            padded = [*before, *([rest[0]] * (index + 1 - len(before)))]
            return place.with_keywords(prefixItems=[*padded[:index], inner, *padded[index + 1 :]])

        yield from compare(place.inner(one, two, ("prefixItems", index), rebuild))
    if _limits_others(place) and (len(before) != len(after) or ("items" in place.before) != ("items" in place.after)):
        message = f"{place.label}: prefixItems or items now apply to different items"
        keyword = "items" if ("items" in place.before) != ("items" in place.after) else "prefixItems"
        edited = place.with_new("items", "prefixItems")
        yield place.change(Aspect.ITEMS, Direction.NARROWER, keyword, message, edited)
    elif not is_same(*rest):
        yield from compare(place.under("items"))
    old_value, new_value = place.before.get("uniqueItems") is True, place.after.get("uniqueItems") is True
    if old_value != new_value:
        message = f"{place.label}: items {'must now be unique' if new_value else 'need no longer be unique'}"
        where, edited = (*place.route, "uniqueItems"), place.with_new("uniqueItems")
        yield SchemaChange(Aspect.ITEMS, narrower_if(new_value), where, message, old_value, new_value, edited=edited)


def _without_plain_names(node: Node) -> Node:
    """Return the node without ``propertyNames: {type: string}``, which generators write and every object satisfies."""
    if node.schema.get("propertyNames") != {"type": "string"}:
        return node
    return replace(node, schema={key: each for key, each in node.schema.items() if key != "propertyNames"})


def _condition(keyword: str, place: Place, compare: Compare) -> Iterator[SchemaChange]:
    before, after = place.before.get(keyword), place.after.get(keyword)
    has_effect = keyword == "contains"  # it requires one item, even if it allows any value
    edited = place.with_new(keyword, *(("minContains", "maxContains") if has_effect else ()))
    if keyword in place.before and keyword in place.after:
        if not is_same(before, after):
            yield from compare(place.under(keyword))
        return
    is_added = keyword in place.after
    if (is_added or keyword in place.before) and (has_effect or (after if is_added else before) is not True):
        message = f"{place.label}: a condition was {'added' if is_added else 'removed'} ({keyword})"
        yield place.change(Aspect.CONDITION, narrower_if(is_added), keyword, message, edited)


def _required_names(schema: JsonObject) -> list[str]:
    return [name for name in list_under(schema, "required") if isinstance(name, str)]


def _not(place: Place, compare: Compare) -> Iterator[SchemaChange]:
    if is_same(place.before.get("not"), place.after.get("not")):
        return
    if "not" in place.before and "not" in place.after:
        for each in compare(place.under("not")):
            yield replace(each, direction=each.direction.reversed)
        return
    is_added = "not" in place.after
    message = f"{place.label} {'must now not' if is_added else 'may now'} match a schema (not)"
    yield place.change(Aspect.CONDITION, narrower_if(is_added), "not", message, place.with_new("not"))


def _conditional(place: Place) -> Iterator[SchemaChange]:
    keywords = ("if", "then", "else")
    before: JsonObject = {key: place.before[key] for key in keywords if key in place.before}
    after: JsonObject = {key: place.after[key] for key in keywords if key in place.after}
    new_applies, old_applies = _has_effect(after), _has_effect(before)
    if is_same(before, after) or not (new_applies or old_applies or _limits_others(place)):
        return
    where, edited = (*place.route, "if"), place.with_new(*keywords)
    if new_applies != old_applies:
        message = f"{place.label}: a condition was {'added' if new_applies else 'removed'} (if)"
        one, other = (None, after) if new_applies else (before, None)
        yield SchemaChange(Aspect.CONDITION, narrower_if(new_applies), where, message, one, other, edited=edited)
        return
    message = f"{place.label}: a condition (if) changed"
    for direction in (Direction.NARROWER, Direction.WIDER):
        yield SchemaChange(Aspect.CONDITION, direction, where, message, before, after, edited=edited)


def _has_effect(conditional: JsonObject) -> bool:
    return "if" in conditional and ("then" in conditional or "else" in conditional)
