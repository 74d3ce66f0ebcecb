"""TC805: annotations that contradict the tool's name or one another, or are missing."""

from __future__ import annotations

from pathlib import Path

import pytest
from checked import messages

from toolc.compiler import codes
from toolc.compiler.checks import contradictions

SILENT = ["this tool does not say whether it only reads or may destroy something"]


def spec(name: str, annotations: str, more: str = "") -> str:
    head = f"toolc: 1\nname: {name}\ndescription: Say hello to the whole world.\n"
    return f"{head}annotations: {annotations}\nbackend: {{shell: {{argv: [a]}}}}\n{more}"


@pytest.mark.parametrize(
    ("name", "annotations", "message"),
    [
        ("hello", "{read_only: true, destructive: true}", "this tool cannot only read and be destructive too"),
        ("delete_user", "{read_only: true}", "this tool says it only reads, and its name says 'delete'"),
        ("deleteUser", "{read_only: true}", "this tool says it only reads, and its name says 'delete'"),
        ("user-delete", "{read_only: true}", "this tool says it only reads, and its name says 'delete'"),
        ("purge_cache", "{destructive: false}", "this tool says it destroys nothing, and its name says 'purge'"),
        ("list_users", "{destructive: true}", "this tool says it is destructive, and its name says 'list'"),
    ],
)
def test_contradictions(tmp_path: Path, name: str, annotations: str, message: str) -> None:
    assert messages(tmp_path, contradictions, spec(name, annotations)) == [message]


@pytest.mark.parametrize(
    ("name", "annotations"),
    [
        ("delete_user", "{destructive: true}"),
        ("list_users", "{read_only: true}"),
        ("remove_accents", "{read_only: true}"),
        ("list_deleted_users", "{read_only: true}"),
        ("undelete_user", "{destructive: false}"),
        ("get_or_create", "{read_only: false}"),
        ("create_user", "{destructive: false}"),
    ],
)
def test_what_fits_together(tmp_path: Path, name: str, annotations: str) -> None:
    assert messages(tmp_path, contradictions, spec(name, annotations)) == []


def test_a_verb_that_changes_counts_where_there_is_something_to_change(tmp_path: Path) -> None:
    network = "sandbox: {network: {allow: ['a.example.com:443']}}\n"
    text = spec("send_report", "{read_only: true}", network)
    assert messages(tmp_path, contradictions, text) == ["this tool says it only reads, and its name says 'send'"]


@pytest.mark.parametrize(
    ("annotations", "expected"),
    [("{}", SILENT), ("{open_world: false}", SILENT), ("{read_only: false}", []), ("{destructive: false}", [])],
)
def test_missing_annotations(tmp_path: Path, annotations: str, expected: list[str]) -> None:
    assert messages(tmp_path, contradictions, spec("hello", annotations)) == expected


def test_only_contradictions_are_on() -> None:
    assert codes.CONTRADICTION.enabled
    assert not codes.NO_ANNOTATION.enabled
