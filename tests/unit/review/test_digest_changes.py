"""Every change of a digest is reported: any value of a stored tool that changed, was removed or was added."""

import copy
import random
from collections.abc import Iterator
from typing import Final

import pytest
from project.paths import TEST_SPECS

from toolc.model.call_graph import tools_by_name
from toolc.model.errors import RegistryError
from toolc.model.json_schema import JsonObject, JsonValue
from toolc.model.registry import registry_from_json
from toolc.model.registry_io import register
from toolc.model.spec.tool import EFFECT, SURFACE, ToolSpec
from toolc.review.compare import compare
from toolc.review.model.state import Reviewed, State
from toolc.review.sources.states import state_of

SPECS: Final = TEST_SPECS / "positive" / "formats.yaml"
OTHERS: Final[tuple[JsonValue, ...]] = (None, True, False, 7, "other", [], {}, ["x"], {"x": 1})
Step = str | int


@pytest.fixture(scope="module")
def tools() -> tuple[ToolSpec, ...]:
    with state_of(str(SPECS), []) as state:
        return tuple(tool.spec for tool in state.tools.values())


def places(value: JsonValue, route: tuple[Step, ...] = ()) -> Iterator[tuple[Step, ...]]:
    """Yield the path of each value inside a value."""
    yield route
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in inner:
        yield from places(each, (*route, key))


def edits(stored: JsonObject, route: tuple[Step, ...]) -> Iterator[JsonObject]:
    """Return ``stored`` with one value changed, removed or added."""
    for other in OTHERS:
        yield edited(stored, route, "put", other)
    yield edited(stored, route, "take", None)
    yield edited(stored, route, "turn", None)


def edited(stored: JsonObject, route: tuple[Step, ...], how: str, other: JsonValue) -> JsonObject:
    done = copy.deepcopy(stored)
    place: JsonValue = done
    for step in route[:-1]:
        place = place[step]  # type: ignore[index]
    assert isinstance(place, dict | list)
    last = route[-1]
    if how == "put":
        place[last] = other  # type: ignore[index]
    elif how == "take":
        del place[last]  # type: ignore[arg-type]
    elif isinstance(inner := place[last], list):  # type: ignore[index]
        inner.reverse()
    elif isinstance(inner, str):
        place[last] = f"{inner} "  # type: ignore[index]
    elif isinstance(inner, dict):
        inner["x"] = "y"
    return done


def changed(tools: tuple[ToolSpec, ...], name: str, stored: JsonObject) -> tuple[ToolSpec, ...] | None:
    """Return all tools with one replaced by its stored form; None if that is not a valid tool."""
    others = tools_by_name(tools)
    digests: JsonObject = {"surface": "", "effect": ""}
    try:
        (done,) = registry_from_json({"registry": 1, "tools": [stored | {"digests": digests}]}).tools
    except RegistryError:
        return None
    found = done.spec
    if found.name != name or name not in others:
        return None
    return tuple(found if tool.name == name else tool for tool in tools)


def state(tools: tuple[ToolSpec, ...]) -> State:
    return State("a state", {tool.name: Reviewed(tool) for tool in tools})


@pytest.mark.slow
def test_every_digest_change_is_reported(tools: tuple[ToolSpec, ...]) -> None:
    before = state(tools)
    choices = random.Random(7)
    tried = 0
    for tool in tools:
        stored = register(tool, tools_by_name(tools)).to_json()
        del stored["digests"]
        names = [route for route in places(stored) if len(route) and route[0] in (*SURFACE, *EFFECT)]
        for route in choices.sample(names, min(10, len(names))):
            for other in edits(stored, route):
                now = changed(tools, tool.name, other)
                if now is None:
                    continue
                after = state(now)
                try:
                    is_same = before.digests(tool.name) == after.digests(tool.name)
                    expected = {each.name for each in compare(before, after).tools}
                except (ValueError, AttributeError, RegistryError):  # no tool that could have been compiled
                    continue
                tried += 1
                assert is_same or tool.name in expected, (tool.name, route, other[str(route[0])])
    assert tried > 80
