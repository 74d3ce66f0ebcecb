"""Merges of a source that changed into a file that a person edited: only what changed in the source changes."""

import pytest

from toolc.importers.merge import Merged, UnreadableError, edited, merge
from toolc.model.json_schema import JsonObject

BASE = """\
# generated
name: a
description: "Find a pet."
parameters:
  type: object
  properties:
    id: {type: string}
    limit: {type: integer, maximum: 100}
backend: {http: {url: "https://a.example", query: {limit: "{{ limit }}"}}}
tags: [a]
"""
OURS = """\
# mine
tags: [a]   # why
name: find_pet
description: "Find a pet."
parameters:
  type: object
  properties:
    limit: {type: integer, maximum: 100}  # the service allows no more

    id: {type: string, description: The number}
backend: {http: {url: "https://a.example", query: {limit: "{{ limit }}"}}}
owner: me
"""


@pytest.mark.parametrize(
    ("old", "new", "was", "expected"),
    [
        ('"Find a pet."', '"Find one pet."', 'description: "Find a pet."', 'description: "Find one pet."'),
        ("maximum: 100", "maximum: 50", "maximum: 100}  # the", "maximum: 50}  # the"),
        ("    id: {type: string}\n", "", "{type: string, description: The number}", None),
        ("tags: [a]", "tags: [a, b]", "tags: [a]   # why", "tags: [a, b]   # why"),
        ("tags: [a]\n", "", "tags: [a]   # why\n", ""),
        ('limit: "{{ limit }}"', 'max: "{{ limit }}"', 'limit: "{{ limit }}"', 'max: "{{ limit }}"'),
        ("tags: [a]\n", "tags: [a]\nlabel: Pets\n", "owner: me\n", "owner: me\nlabel: Pets\n"),
        ("{type: string}", "{type: string, maxLength: 9}", "The number}", "The number, maxLength: 9}"),
    ],
)
def test_what_only_the_source_changed_is_edited_in_place(old: str, new: str, was: str, expected: str | None) -> None:
    theirs = BASE.replace(old, new)
    assert theirs != BASE
    result = merge(BASE, OURS, theirs)
    if expected is None:
        assert [str(each) for each in result.conflicts] == [
            "parameters.properties.id: the file has {type: string, description: The number}, the source has no such key"
        ]
    else:
        assert (result.text, result.conflicts) == (OURS.replace(was, expected), ())


def test_what_both_changed_is_a_conflict_with_both_values() -> None:
    theirs = BASE.replace("name: a", "name: b").replace("[a]", "[c]")
    result = merge(BASE, OURS, theirs)
    assert [str(each) for each in result.conflicts] == ["name: the file has find_pet, the source has b"]
    assert result.text == OURS.replace("tags: [a]", "tags: [c]")
    assert merge(BASE, OURS, theirs, is_forced=True).text == result.text.replace("find_pet", "b")


def test_a_file_without_edits_is_what_the_source_says() -> None:
    theirs = BASE.replace("name: a", "name: b")
    assert merge(BASE, BASE, theirs).text == theirs
    assert merge(BASE, theirs, theirs).conflicts == ()
    assert merge(BASE, OURS, BASE).text == OURS


def test_blocks_of_text_and_nested_blocks_are_replaced() -> None:
    text = "a:\n  b: |\n    one\n    two\n  # comment\n  c: 1\n"
    assert edited(text, ("a", "b"), "three") == "a:\n  b: three\n  # comment\n  c: 1\n"
    long: JsonObject = {"x" * 30: "y" * 30, "z" * 30: "w" * 30}
    assert (
        edited("a:\n  b: 1\n", ("a", "b"), long)
        == f"a:\n  b:\n    {'x' * 30}: {'y' * 30}\n    {'z' * 30}: {'w' * 30}\n"
    )
    assert edited("a: {}\n", ("a", "b"), 1) == "a: {b: 1}\n"


def test_a_file_that_is_not_yaml_is_not_changed() -> None:
    with pytest.raises(UnreadableError):
        merge(BASE, "a: [", BASE.replace("name: a", "name: b"))


TOOLS = """\
servers: {s: {command: [a]}}
tools:
  - name: one
    description: One
  - name: two
    description: Two  # a comment
    backend:
      definition: {x: 1}
  - name: three
    description: Three
"""


@pytest.mark.parametrize(
    ("ours", "theirs", "expected"),
    [
        (TOOLS, TOOLS.replace("{x: 1}", "{x: 2}"), TOOLS.replace("{x: 1}", "{x: 2}")),
        (
            TOOLS.replace("One", "Mine"),
            TOOLS.replace("Two", "New"),
            TOOLS.replace("One", "Mine").replace("description: Two  # a comment", "description: New  # a comment"),
        ),
        (  # another order in the source
            TOOLS.replace("One", "Mine"),
            TOOLS.replace("  - name: three\n    description: Three\n", "").replace(
                "tools:\n", "tools:\n  - name: three\n    description: Third\n"
            ),
            TOOLS.replace("One", "Mine").replace("Three", "Third"),
        ),
        (  # a tool that is new, and one that is gone
            TOOLS.replace("One", "Mine"),
            TOOLS.replace("three", "four").replace("Three", "Four"),
            TOOLS.replace("One", "Mine").replace("three", "four").replace("Three", "Four"),
        ),
        (  # a tool that a person has deleted stays deleted
            TOOLS.replace("  - name: one\n    description: One\n", ""),
            TOOLS.replace("Three", "New"),
            TOOLS.replace("  - name: one\n    description: One\n", "").replace("Three", "New"),
        ),
        (  # a tool of a person stays
            TOOLS + "  - name: own\n    description: Own\n",
            TOOLS.replace("Two", "New"),
            TOOLS.replace("Two", "New") + "  - name: own\n    description: Own\n",
        ),
    ],
)
def test_named_items_of_lists_are_merged_by_name(ours: str, theirs: str, expected: str) -> None:
    assert merge(TOOLS, ours, theirs) == Merged(expected)


@pytest.mark.parametrize(
    ("ours", "theirs", "conflict"),
    [
        (
            TOOLS.replace("One", "Mine"), TOOLS.replace("One", "Theirs"),
            "tools.0.description: the file has Mine, the source has Theirs",
        ),
        (
            TOOLS.replace("Three", "Mine"), TOOLS.replace("  - name: three\n    description: Three\n", ""),
            "tools.three: the file has changes, the source has been deleted",
        ),
        (
            TOOLS.replace("  - name: one\n    description: One\n", ""), TOOLS.replace("One", "Theirs"),
            "tools.one: the file has been deleted, the source has changes",
        ),
    ],
)  # fmt: skip
def test_conflicts_in_named_items(ours: str, theirs: str, conflict: str) -> None:
    merged = merge(TOOLS, ours, theirs)
    assert (merged.text, [str(each).replace('"', "") for each in merged.conflicts]) == (ours, [conflict])
