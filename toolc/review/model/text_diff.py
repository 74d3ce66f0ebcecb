"""What changed of the text that a model reads: every string of a tool, word by word (RSK10 grades it)."""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from toolc.model.json_schema import JsonObject, JsonValue
from toolc.model.spec.tool import SURFACE
from toolc.review.model.change import Kind, Route, ToolChange
from toolc.review.model.schema_node import is_same, whole
from toolc.review.model.state import Reviewed


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


RULE: Final = "SUR01"

_TOKEN: Final = re.compile(r"\s+|\w+|[^\w\s]")
MOST_EQUAL: Final = 100_000
"""How many pairs of equal tokens two texts may have to be compared: ``difflib`` takes about that number squared
in the worst case, and a text of one word said a thousand times would take minutes."""


def rest(old: Reviewed, new: Reviewed, told: Sequence[ToolChange]) -> Iterator[ToolChange]:
    """Each part of what a model sees that differs and that no change of ``told`` is about."""
    places = [(change.kind, _stored(change.path)) for change in told]
    for part in differing(old, new, SURFACE):
        if part.route == ("name",) or any(_is_about(*place, part) for place in places):
            continue
        route = ("result", "schema", *part.route[1:]) if part.route[0] == "result_schema" else part.route
        yield ToolChange(
            kind="surface",
            rule=RULE,
            grade="low",
            message=f"the model sees another definition at {shown(route)}",
            path=route,
            before=whole(part.before),
            after=whole(part.after),
            old=old.span(*route),
            new=new.span(*route),
        )


def _stored(route: Route) -> Route:
    """A place of a spec as the place where a tool is stored has it."""
    return ("result_schema", *route[2:]) if route[:2] == ("result", "schema") else route


def _is_about(kind: Kind, told: Route, part: Part) -> bool:
    """Whether a change explains what differs: it is there, around it, or inside it.

    One text inside says nothing of the keys around it.
    """
    route = part.route
    if kind == "surface" and len(told) > len(route) and not (_is_text(part.before) and _is_text(part.after)):
        return False
    if kind == "contract" and route[-1] == "required" and told[: len(route)] == (*route[:-1], "properties"):
        return True  # a property that came or went is told where it stands
    return bool(told) and (told[: len(route)] == route or route[: len(told)] == told)


def _is_text(value: JsonValue) -> bool:
    """Whether it is nothing but texts."""
    return value is None or isinstance(value, str) or (isinstance(value, list) and all(map(_is_text, value)))


def texts(tool: Reviewed) -> dict[Route, str]:
    """Every string that a model sees of a tool, keys of schemas left out, by where it stands."""
    return dict(found for name in SURFACE for found in _texts(tool.stored[name], (name,)))


def _texts(value: JsonValue, route: Route) -> Iterator[tuple[Route, str]]:
    if isinstance(value, str):
        yield route, value
    elif isinstance(value, dict):
        for key, each in value.items():
            yield from _texts(each, (*route, key))
    elif isinstance(value, list):
        for index, each in enumerate(value):
            yield from _texts(each, (*route, index))


def shown(route: Route) -> str:
    """A route as people write it: ``parameters.properties.path.description``, ``examples[0].city``."""
    text = ""
    for step in route:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
    return text


def words(before: str, after: str) -> tuple[tuple[str, str], ...]:
    """The two texts as one: pieces that both have (`` ``), that went (``-``) and that came (``+``), in order."""
    old, new = _TOKEN.findall(before), _TOKEN.findall(after)
    if equal_pairs(old, new) > MOST_EQUAL:
        return (("-", before), ("+", after))
    pieces: list[tuple[str, str]] = []
    for tag, a, b, c, d in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag == "equal":
            pieces.append((" ", "".join(old[a:b])))
            continue
        pieces += [(sign, text) for sign, text in (("-", "".join(old[a:b])), ("+", "".join(new[c:d]))) if text]
    return tuple(pieces)


def equal_pairs(old: Sequence[str], new: Sequence[str]) -> int:
    """How many pairs of equal tokens two texts have."""
    before, after = Counter(old), Counter(new)
    return sum(count * after[token] for token, count in before.items())
