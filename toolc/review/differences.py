"""The parts of a stored tool that differ, by where they stand: nothing that a digest holds is passed over."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from toolc.model.json_schema import JsonObject, JsonValue
from toolc.review.change import Route
from toolc.review.contract.node import is_same
from toolc.review.state import Reviewed


@dataclass(frozen=True, slots=True)
class Part:
    """One value that differs; None where a side has nothing there."""

    route: Route
    before: JsonValue
    after: JsonValue


def differing(old: Reviewed, new: Reviewed, fields: Sequence[str]) -> Iterator[Part]:
    """The smallest parts of ``fields`` that differ. Lists are compared whole."""
    for name in fields:
        yield from _parts(old.stored[name], new.stored[name], (name,))


def _parts(old: JsonValue, new: JsonValue, route: Route) -> Iterator[Part]:
    if is_same(old, new):
        return
    if isinstance(old, dict) and isinstance(new, dict):
        for key in dict.fromkeys([*old, *new]):
            yield from _parts(old.get(key), new.get(key), (*route, key))
    else:
        yield Part(route, old, new)


def leaves(tool: Reviewed, fields: Sequence[str]) -> Iterator[tuple[Route, JsonValue]]:
    """Every map of ``fields``, with where it stands as a tool is stored."""
    for name in fields:
        yield from _maps(tool.stored[name], (name,))


def _maps(value: JsonValue, route: Route) -> Iterator[tuple[Route, JsonValue]]:
    if isinstance(value, dict):
        yield route, value
        for key, each in value.items():
            yield from _maps(each, (*route, key))
    elif isinstance(value, list):
        for index, each in enumerate(value):
            yield from _maps(each, (*route, index))


def written(value: JsonValue) -> JsonValue:
    """A stored value with its templates as a spec writes them: ``{{ name.key | filter }}``."""
    if isinstance(value, dict):
        return _placeholder(value) or {key: written(each) for key, each in value.items()}
    if not isinstance(value, list):
        return value
    if any(isinstance(part, dict) and _placeholder(part) for part in value):
        return "".join(part if isinstance(part, str) else str(written(part)) for part in value)
    return [written(each) for each in value]


def _placeholder(value: JsonObject) -> str:
    """A stored placeholder in a spec's words; empty for any other map."""
    match value:
        case {"name": str() as name, "keys": list() as keys, "filters": list() as filters} if len(value) == 3:
            words = [".".join(map(str, (name, *keys))), *map(_filter, filters)]
            return f"{{{{ {' | '.join(words)} }}}}"
        case _:
            return ""


def _filter(value: JsonValue) -> str:
    assert isinstance(value, dict)
    argument = value["argument"]
    return str(value["name"]) if argument is None else f"{value['name']}({argument!r})"
