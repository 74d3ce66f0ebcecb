"""Tests for the call graph."""

import pytest
from compiling.long_runs import counted_calls

from toolc.model.call_graph import (
    call_depth,
    call_depths,
    called_tools,
    find_cycle,
    find_cycles,
    reachable_tools,
    tools_by_name,
)
from toolc.model.json_schema import Schema
from toolc.model.spec.code_backends import Argv, ShellBackend
from toolc.model.spec.composed_backends import CompositeBackend, Step
from toolc.model.spec.tool import ToolSpec
from toolc.model.template import Template


def shell(name: str, *aliases: str) -> ToolSpec:
    return ToolSpec(
        name=name,
        description=name,
        parameters=Schema({"type": "object"}),
        backend=ShellBackend(command=Argv(elements=(Template(("true",)),))),
        aliases=aliases,
    )


def composite(name: str, *tools: str) -> ToolSpec:
    return ToolSpec(
        name=name,
        description=name,
        parameters=Schema({"type": "object"}),
        backend=CompositeBackend(
            strategy="sequential", steps=tuple(Step(id=f"s{at}", tool=tool) for at, tool in enumerate(tools))
        ),
    )


A, B = shell("a"), shell("b", "old_b")
INNER = composite("inner", "old_b", "a", "a")
OUTER = composite("outer", "inner", "gone")
TOOLS = tools_by_name([A, B, INNER, OUTER])


def test_names_have_priority_over_aliases() -> None:
    assert TOOLS["old_b"] is B
    assert tools_by_name([B, shell("old_b")])["old_b"].aliases == ()


def test_called_names_are_unique() -> None:
    assert called_tools(INNER) == ("old_b", "a")
    assert called_tools(A) == ()


def test_reachable_tools_are_listed_by_name() -> None:
    assert reachable_tools(OUTER, TOOLS) == {"a": A, "b": B, "gone": None, "inner": INNER}


def test_call_depth_counts_nested_calls() -> None:
    assert [call_depth(tool, TOOLS) for tool in (A, INNER, OUTER)] == [1, 2, 3]
    assert call_depths([OUTER, INNER, A, B]) == {"a": 1, "b": 1, "inner": 2, "outer": 3}


@pytest.mark.parametrize(
    ("graph", "cycles"),
    [
        ("", {}),
        ("ab bc", {}),
        ("aa ab", {"a": "a"}),
        ("ab ba", {"a": "ab", "b": "ab"}),
        ("ab bc ca cd da", dict.fromkeys("abcd", "abcd")),
        ("ab bc cb cd de ed", {"b": "bc", "c": "bc", "d": "de", "e": "de"}),
        ("ab ac bd cd da", dict.fromkeys("abcd", "abcd")),
    ],
)
def test_each_node_of_a_cycle_has_the_nodes_of_its_cycle(graph: str, cycles: dict[str, str]) -> None:
    """``graph`` lists edges; a node without edges is not a key."""
    targets: dict[str, frozenset[str]] = {}
    for edge in graph.split():
        targets[edge[0]] = targets.get(edge[0], frozenset()) | {edge[1]}
    assert find_cycles(targets) == {node: frozenset(cycle) for node, cycle in cycles.items()}


def test_tools_that_reach_a_cycle_have_no_depth() -> None:
    assert call_depths([A, composite("x", "y", "a"), composite("y", "y"), composite("z", "a")]) == {"a": 1, "z": 2}


def test_the_depths_of_a_long_chain_are_found_in_linear_time() -> None:
    tools = [composite(f"t{at}", f"t{at + 1}") for at in range(3000)]
    assert call_depths(tools)["t0"] == 3000
    assert counted_calls(lambda: call_depths(tools)) < 100_000


@pytest.mark.parametrize(
    ("calls", "found"),
    [
        ({"x": ["x"]}, ("x", "x")),
        ({"x": ["y", "z"], "y": [], "z": ["w"], "w": ["y", "x"]}, ("x", "z", "w", "x")),
        ({"x": ["y"], "y": ["z"], "z": ["y"]}, ("y", "z", "y")),
        ({"x": ["y", "z"], "y": ["w"], "z": ["w"], "w": []}, ()),
    ],
)
def test_a_cycle_is_reported_with_its_path(calls: dict[str, list[str]], found: tuple[str, ...]) -> None:
    tools = {name: composite(name, *others) if others else shell(name) for name, others in calls.items()}
    assert find_cycle(tools["x"], tools) == found


def test_long_cycles_are_found() -> None:
    tools = {f"t{at}": composite(f"t{at}", f"t{(at + 1) % 3000}") for at in range(3000)}
    assert len(find_cycle(tools["t0"], tools)) == 3001
    assert len(reachable_tools(tools["t0"], tools)) == 3000
