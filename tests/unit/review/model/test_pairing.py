"""Which tool became which: by name, by alias, by what it does, by what it says; never twice."""

from __future__ import annotations

from dataclasses import replace

import pytest

from toolc.model.json_schema import Schema
from toolc.model.spec.code_backends import Argv, PluginBackend, ShellBackend
from toolc.model.spec.tool import ToolSpec
from toolc.model.template import Template
from toolc.review.model.pairing import pairs
from toolc.review.model.state import Reviewed, State

LONG = "Count the words of one text file in the workspace, for questions about how long it is"


def tool(name: str, program: str = "wc", description: str = LONG, aliases: tuple[str, ...] = ()) -> ToolSpec:
    return ToolSpec(
        name=name,
        description=description,
        parameters=Schema({"type": "object", "properties": {}}),
        backend=ShellBackend(command=Argv(elements=(Template((program,)),))),
        aliases=aliases,
    )


def state(*tools: ToolSpec) -> State:
    return State("a state", {each.name: Reviewed(each) for each in tools})


def paired(old: State, new: State) -> list[tuple[str, str | None, str | None, str]]:
    return [
        (each.status, each.old.spec.name if each.old else None, each.new.spec.name if each.new else None, each.reason)
        for each in pairs(old, new)
    ]


def test_a_name_that_both_have_is_one_tool_whatever_else_changed() -> None:
    old, new = state(tool("a", "wc")), state(tool("a", "rm", "Something else altogether"))
    assert paired(old, new) == [("kept", "a", "a", "")]


@pytest.mark.parametrize(
    ("new", "why"),
    [
        (tool("b", "rm", "Something else", ("a",)), "the old name is an alias"),
        (tool("b", "wc", "Something else"), "a call does the same"),
        (tool("b", "rm", LONG.replace("words", "lines")), "the descriptions are 94% alike"),
    ],
    ids=["alias", "effect", "description"],
)
def test_a_name_that_went_and_one_that_came_are_one_tool(new: ToolSpec, why: str) -> None:
    assert paired(state(tool("a")), state(new)) == [("renamed", "a", "b", why)]


def served(name: str, description: str, own: str | None = None) -> ToolSpec:
    return replace(tool(name, description=description), backend=PluginBackend(command=("notes-server",), tool=own))


def test_two_tools_of_one_plugin_do_not_do_the_same() -> None:
    old, new = state(served("zip", "Pack files")), state(served("log", "Write more lines to the log"))
    assert paired(old, new) == [("added", None, "log", ""), ("removed", "zip", None, "")]


def test_a_tool_of_a_plugin_under_another_name_does_the_same() -> None:
    old, new = state(served("zip", "Pack files")), state(served("pack", "Make one file of many", "zip"))
    assert paired(old, new) == [("renamed", "zip", "pack", "a call does the same")]


def test_descriptions_that_are_less_alike_are_two_tools() -> None:
    new = tool("b", "rm", "Count the words of one text, and then do many other things with all of its lines")
    assert paired(state(tool("a")), state(new)) == [("removed", "a", None, ""), ("added", None, "b", "")]


def test_each_tool_is_part_of_one_pair_and_an_alias_goes_before_an_effect() -> None:
    old = state(tool("a"), tool("c", "rm", "Remove"))
    new = state(tool("b"), replace(tool("d"), aliases=("a",)))
    assert paired(old, new) == [
        ("added", None, "b", ""),
        ("removed", "c", None, ""),
        ("renamed", "a", "d", "the old name is an alias"),
    ]


def test_the_order_of_tools_changes_nothing() -> None:
    old, new = [tool(name, name) for name in "abc"], [tool(name, name.lower(), "x") for name in "BCA"]
    assert paired(state(*old), state(*new)) == paired(state(*old[::-1]), state(*new[::-1]))
