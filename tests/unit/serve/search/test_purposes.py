"""What a query asks for and what a tool does: the first verb and the annotations say it."""

from dataclasses import replace

import pytest
from calls.fake_tools import tool

from toolc.model.spec.http_backend import HttpBackend
from toolc.model.spec.tool import Annotations, ToolSpec
from toolc.model.template import Template
from toolc.serve.search.purposes import Purpose, purpose_of_query, purpose_of_tool


def kinds(purpose: Purpose) -> str:
    return " ".join(sorted(purpose.kinds))


def labelled(label: str, *, read_only: bool | None = None) -> ToolSpec:
    return replace(tool("one"), label=label, annotations=Annotations(read_only=read_only))


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("delete a branch", "delete"), ("labels of an issue", "read"), ("which branches are there", "read"),
        ("how to delete a branch", "read"), ("please delete a branch", "delete"),
        ("temporarily pause it", "delete update"),
        ("switch off the alarm", "delete"),
        ("the token is stale, revoke it", "delete"), ("open issues", "create read"),
        ("do not send mails on each push", "delete update"), ("an app no longer sees this", "delete update"),
        ("a team should no longer see this", "delete update"), ("a person should see this", "create delete update"),
        ("an app should lose a right", "delete"), ("reply to a ticket", "create"), ("a log of changes", "read"),
        ("log of changes", "read"), ("", "read"),
    ],
)  # fmt: skip
def test_the_first_verb_of_a_query_decides(query: str, expected: str) -> None:
    assert kinds(purpose_of_query(query)) == expected


@pytest.mark.parametrize(
    ("query", "is_of_many"),
    [
        ("labels of an issue", True), ("show the labels of an issue", True), ("which repository is it", True),
        ("comments people made", True), ("label of many issues", False), ("get the status", False), ("list it", True),
    ],
)  # fmt: skip
def test_a_plural_asks_for_a_list(query: str, *, is_of_many: bool) -> None:
    assert purpose_of_query(query).is_of_many == is_of_many


def test_annotations_and_the_first_verb_say_what_a_tool_does() -> None:
    assert kinds(purpose_of_tool(labelled("Remove a label"))) == "delete"
    assert kinds(purpose_of_tool(labelled("Check a label", read_only=False))) == ""
    assert kinds(purpose_of_tool(labelled("Merge a report", read_only=True))) == "read"
    assert kinds(purpose_of_tool(replace(tool("issues_create"), label=None))) == "create"
    assert purpose_of_tool(labelled("List labels")).is_of_many
    assert purpose_of_tool(labelled("Get all labels")).is_of_many
    assert not purpose_of_tool(labelled("Get a label")).is_of_many


def test_the_method_of_a_request_says_what_a_tool_does() -> None:
    put = HttpBackend(url=Template(("https://example.com/",)), method="PUT")
    assert kinds(purpose_of_tool(replace(labelled("Enable a hook"), backend=put))) == "create update"
    assert kinds(purpose_of_tool(labelled("Updates a hook"))) == "update"


def test_the_same_purpose_fits_best() -> None:
    show, show_many, create, update = (
        purpose_of_query(query) for query in ("show it", "show all labels", "create it", "update it")
    )
    assert show.fit(show) > show.fit(show_many) > show.fit(create)
    assert create.fit(create) > create.fit(update) > create.fit(show)
    assert show.fit(Purpose(frozenset())) == 1
