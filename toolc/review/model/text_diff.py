"""Differences of the text that a model reads: every string of a tool, word by word (RSK10 grades them)."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import Final

from toolc.dataclass import dataclass
from toolc.model.json_schema import JsonObject, JsonValue, values_within
from toolc.model.spec.tool import SURFACE
from toolc.model.text import lazy_re
from toolc.review.model.change import Kind, Route, ToolChange
from toolc.review.model.schema_node import is_same, to_json_text
from toolc.review.model.state import Reviewed

RULE: Final = "SUR01"

_TOKEN: Final = lazy_re(r"\s+|\w+|[^\w\s]")
MAX_EQUAL_PAIRS: Final = 10_000
"""The maximum number of pairs of equal tokens in two texts that are compared word by word.

In the worst case ``difflib`` takes quadratic time. A text that repeats one word a thousand times would take minutes.
Spaces are aligned after the other tokens, because two texts of 200 words have 40,000 pairs of spaces.
"""


@dataclass(frozen=True, slots=True)
class Part:
    """One value that differs, or None in a state that has no value."""

    route: Route
    before: JsonValue
    after: JsonValue


def changed_parts(old: Reviewed, new: Reviewed, fields: Sequence[str]) -> Iterator[Part]:
    """Yield the smallest parts of ``fields`` that differ. Lists are compared as a whole."""
    for name in fields:
        yield from _parts(old.stored.get(name), new.stored.get(name), (name,))


def _parts(old: JsonValue, new: JsonValue, route: Route) -> Iterator[Part]:
    if is_same(old, new):
        return
    if isinstance(old, dict) and isinstance(new, dict):
        for key in dict.fromkeys([*old, *new]):
            yield from _parts(old.get(key), new.get(key), (*route, key))
    else:
        yield Part(route, old, new)


def stored_values(tool: Reviewed, fields: Sequence[str]) -> Iterator[tuple[Route, JsonValue]]:
    """Yield every value in ``fields`` with its route in the stored tool."""
    for name in fields:
        yield from values_within(tool.stored[name], (name,))


def as_in_spec(value: JsonValue) -> JsonValue:
    """Return a stored value with its templates in the form of a spec, ``{{ name.key | filter }}``."""
    if isinstance(value, dict):
        return _placeholder(value) or {key: as_in_spec(each) for key, each in value.items()}
    if not isinstance(value, list):
        return value
    if any(isinstance(part, dict) and _placeholder(part) for part in value):
        return "".join(part if isinstance(part, str) else str(as_in_spec(part)) for part in value)
    return [as_in_spec(each) for each in value]


def _placeholder(value: JsonObject) -> str:
    """Return a stored placeholder in the form of a spec, or ``""`` for any other mapping."""
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


def remaining_surface_changes(old: Reviewed, new: Reviewed, reported: Sequence[ToolChange]) -> Iterator[ToolChange]:
    """Yield a change for each difference in the surface of a tool that no change in ``reported`` covers."""
    places = [(change.kind, _stored_route(change.path)) for change in reported]
    for part in changed_parts(old, new, SURFACE):
        if part.route == ("name",) or any(_is_covered(*place, part) for place in places):
            continue
        route = ("result", "schema", *part.route[1:]) if part.route[0] == "result_schema" else part.route
        yield ToolChange(
            rule=RULE, grade="low", message=f"the definition for the model changed at {format_route(route)}",
            path=route, before=to_json_text(part.before), after=to_json_text(part.after),
            old=old.span(*route), new=new.span(*route),
        )  # fmt: skip


def _stored_route(route: Route) -> Route:
    """Convert a route of the spec to the route in the stored tool."""
    return ("result_schema", *route[2:]) if route[:2] == ("result", "schema") else route


def _is_covered(kind: Kind, reported: Route, part: Part) -> bool:
    """Return whether a change explains the difference, because it is at the same place, around it or inside it.

    A change of one text inside does not explain the keys around it.
    """
    route = part.route
    if kind == "surface" and len(reported) > len(route) and not (_is_text(part.before) and _is_text(part.after)):
        return False
    if kind == "contract" and route[-1] == "required" and reported[: len(route)] == (*route[:-1], "properties"):
        return True  # an added or removed property is reported at its own place
    return bool(reported) and (reported[: len(route)] == route or route[: len(reported)] == reported)


def _is_text(value: JsonValue) -> bool:
    """Return whether the value consists only of strings."""
    return value is None or isinstance(value, str) or (isinstance(value, list) and all(map(_is_text, value)))


def texts(tool: Reviewed, fields: Sequence[str] = SURFACE) -> dict[Route, str]:
    """Return every string in ``fields`` of a tool, except keys, by its route. By default, use the tool's surface."""
    return {route: value for route, value in stored_values(tool, fields) if isinstance(value, str)}


def format_route(route: Route) -> str:
    """Return a route as text, such as ``parameters.properties.path.description`` or ``examples[0].city``."""
    text = ""
    for step in route:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
    return text


def word_diff(before: str, after: str) -> tuple[tuple[str, str], ...]:
    """Return the two texts as one list of common (`` ``), removed (``-``) and added (``+``) pieces, in order."""
    first, last, old, new = _without_common_ends(_TOKEN.findall(before), _TOKEN.findall(after))
    pieces = [(" ", first)]
    if equal_pairs(old, new) > MAX_EQUAL_PAIRS:
        pieces += [("-", old), ("+", new)]
    else:
        for tag, a, b, c, d in difflib.SequenceMatcher(str.isspace, old, new, autojunk=False).get_opcodes():
            pieces += [(" ", old[a:b])] if tag == "equal" else [("-", old[a:b]), ("+", new[c:d])]
    return tuple((sign, "".join(tokens)) for sign, tokens in (*pieces, (" ", last)) if tokens)


def _without_common_ends(old: list[str], new: list[str]) -> tuple[list[str], list[str], list[str], list[str]]:
    """Return the tokens that both lists start with, those that both end with, and the remaining tokens of each."""
    start = common_start(old, new)
    common, old, new = old[:start], old[start:], new[start:]
    end = common_start(old[::-1], new[::-1])
    kept = len(old) - end
    return common, old[kept:], old[:kept], new[: len(new) - end]


def common_start(old: Sequence[str], new: Sequence[str]) -> int:
    """Return the length of the common start of two texts, in tokens, characters or lines."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(old, new, strict=False)))


def equal_pairs(old: Sequence[str], new: Sequence[str]) -> int:
    """Return the number of pairs of equal tokens in two texts, not counting spaces."""
    before, after = (Counter(token for token in tokens if not token.isspace()) for tokens in (old, new))
    return sum(count * after[token] for token, count in before.items())
