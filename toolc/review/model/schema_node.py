"""Two schemas at the same place, with what they refer to."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final
from urllib.parse import unquote

from toolc.model.json_schema import JsonObject, JsonValue
from toolc.review.model.change import Route

_LONGEST: Final = 60

ANYTHING: Final[JsonObject] = {}
NOTHING: Final[JsonObject] = {"not": {}}


@dataclass(frozen=True, slots=True)
class Node:
    """A schema inside a root: ``written`` is what stands there, ``schema`` that with its references followed."""

    root: JsonObject
    schema: JsonObject
    written: JsonValue = None

    def inner(self, schema: JsonValue) -> Node:
        """A schema that stands in this one; ``true`` and an absent one (None) allow anything."""
        return replace(self, schema=_followed(self.root, schema), written=schema)


def root(schema: JsonObject) -> Node:
    """The node of a whole schema."""
    return Node(schema, _followed(schema, schema), schema)


def _followed(root: JsonObject, schema: JsonValue) -> JsonObject:
    """A schema as a map, what it refers to merged in where nothing else stands beside the reference."""
    seen: set[str] = set()
    while isinstance(schema, dict):
        pointer = schema.get("$ref")
        if not isinstance(pointer, str) or pointer in seen or not pointer.startswith("#"):
            return schema
        seen.add(pointer)
        rest: JsonObject = {key: value for key, value in schema.items() if key not in {"$ref", "$defs"}}
        target = _at(root, pointer)
        if target is None:
            return schema
        if rest.keys() - {"description", "title", "default", "examples", "deprecated"} and isinstance(target, dict):
            return rest | {"allOf": [*_listed(rest.get("allOf")), target]}
        schema = target | rest if isinstance(target, dict) else target
    return NOTHING if schema is False else ANYTHING


def _listed(value: JsonValue) -> list[JsonValue]:
    return value if isinstance(value, list) else []


def _at(root: JsonObject, pointer: str) -> JsonValue:
    """What a JSON pointer or an anchor within ``root`` means; None where there is nothing."""
    fragment = unquote(pointer.removeprefix("#"))
    if fragment and not fragment.startswith("/"):
        return _anchored(root, fragment)
    found: JsonValue = root
    for step in fragment.split("/")[1:]:
        key = step.replace("~1", "/").replace("~0", "~")
        if isinstance(found, dict):
            found = found.get(key)
        elif isinstance(found, list) and key.isdecimal() and int(key) < len(found):
            found = found[int(key)]
        else:
            return None
    return found


def _anchored(value: JsonValue, name: str) -> JsonValue:
    """The schema that is called ``name`` by ``$anchor``, anywhere in ``value``; None where there is none."""
    if isinstance(value, dict) and name in (value.get("$anchor"), value.get("$dynamicAnchor")):
        return value
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return next((found for each in inner if (found := _anchored(each, name)) is not None), None)


def is_same(old: JsonValue, new: JsonValue) -> bool:
    """Whether two JSON values are equal, in which ``1`` is ``1.0`` and ``true`` is not ``1``."""
    if isinstance(old, bool) or isinstance(new, bool):
        return old is new
    if isinstance(old, dict) and isinstance(new, dict):
        return old.keys() == new.keys() and all(is_same(old[key], new[key]) for key in old)
    if isinstance(old, list) and isinstance(new, list):
        return len(old) == len(new) and all(map(is_same, old, new))
    return old == new


def list_under(schema: JsonObject, keyword: str) -> list[JsonValue]:
    """The list under a keyword; empty where there is none."""
    value = schema.get(keyword)
    return value if isinstance(value, list) else []


def map_under(schema: JsonObject, keyword: str) -> JsonObject:
    """The map under a keyword; empty where there is none."""
    value = schema.get(keyword)
    return value if isinstance(value, dict) else {}


def listed(values: list[JsonValue]) -> str:
    """Values as short text: ``"a", "b" and 3 more``."""
    texts = [short(value) for value in values[:3]]
    return ", ".join(texts) + (f" and {len(values) - 3} more" if len(values) > 3 else "")


def short(value: JsonValue) -> str:
    """A value as JSON, cut in its middle where it is long."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 20]}...{text[-17:]}"


def whole(value: JsonValue) -> str | None:
    """All of a value as JSON, its keys sorted; None for none. Fingerprints are made of it, so it is never cut."""
    return None if value is None else json.dumps(value, ensure_ascii=False, sort_keys=True)


def place(route: Route) -> str:
    """Where in a value a schema's route leads, in words: ``'path'``, ``items of 'paths'``, ``the value``."""
    names = [str(name) for key, name in pairwise(route) if key == "properties"]
    return f"'{'.'.join(names)}'" if names else "the value"
