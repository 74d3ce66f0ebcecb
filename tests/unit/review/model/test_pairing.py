"""Pairing of tools by name, alias, effect and description."""

from dataclasses import replace

import pytest

from toolc.model.json_schema import Schema
from toolc.model.spec.code_backends import Argv, PluginBackend, Script, ShellBackend
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


def test_same_name_is_the_same_tool() -> None:
    old, new = state(tool("a", "wc")), state(tool("a", "rm", "Something else altogether"))
    assert paired(old, new) == [("kept", "a", "a", "")]


@pytest.mark.parametrize(
    ("new", "why"),
    [
        (tool("b", "rm", "Something else", ("a",)), "the old name is an alias"),
        (tool("b", "wc", "Something else"), "calls have the same effect"),
        (tool("b", "rm", LONG.replace("words", "lines")), "the descriptions are 94% alike"),
    ],
    ids=["alias", "effect", "description"],
)
def test_renamed_tools_are_paired(new: ToolSpec, why: str) -> None:
    assert paired(state(tool("a")), state(new)) == [("renamed", "a", "b", why)]


def test_of_two_tools_with_the_same_description_the_one_that_runs_the_same_is_the_renamed_one() -> None:
    def fetching(name: str, path: str) -> ToolSpec:
        script = f"fetch {name} from the server: http://example.com/{path} and print the answer"
        return replace(tool(name), backend=ShellBackend(command=Script(text=script)))

    old, new = state(fetching("fetch_one", "a")), state(fetching("fetch_two", "b"), fetching("item", "a"))
    assert ("renamed", "fetch_one", "item", "the descriptions are 100% alike") in paired(old, new)


def served(name: str, description: str, own: str | None = None) -> ToolSpec:
    return replace(tool(name, description=description), backend=PluginBackend(command=("notes-server",), tool=own))


def test_tools_of_one_plugin_are_not_paired() -> None:
    old, new = state(served("zip", "Pack files")), state(served("log", "Write more lines to the log"))
    assert paired(old, new) == [("added", None, "log", ""), ("removed", "zip", None, "")]


def test_renamed_plugin_tool_is_paired() -> None:
    old, new = state(served("zip", "Pack files")), state(served("pack", "Make one file of many", "zip"))
    assert paired(old, new) == [("renamed", "zip", "pack", "calls have the same effect")]


def test_different_descriptions_are_not_paired() -> None:
    new = tool("b", "rm", "Count the words of one text, and then do many other things with all of its lines")
    assert paired(state(tool("a")), state(new)) == [("removed", "a", None, ""), ("added", None, "b", "")]


def test_aliases_have_priority_over_effects() -> None:
    old = state(tool("a"), tool("c", "rm", "Remove"))
    new = state(tool("b"), replace(tool("d"), aliases=("a",)))
    assert paired(old, new) == [
        ("added", None, "b", ""),
        ("removed", "c", None, ""),
        ("renamed", "a", "d", "the old name is an alias"),
    ]


def test_order_of_tools_does_not_matter() -> None:
    old, new = [tool(name, name) for name in "abc"], [tool(name, name.lower(), "x") for name in "BCA"]
    assert paired(state(*old), state(*new)) == paired(state(*old[::-1]), state(*new[::-1]))
