"""Checks of metadata: TC208 (label), TC801 (tests), TC803 (deprecation) and TC805 (annotations)."""

from pathlib import Path

import pytest
from check_cases import HEAD, findings, messages, shell

from toolc.model import codes

SILENT = ["this tool has neither the annotation read_only nor destructive"]


def spec(name: str, annotations: str, more: str = "") -> str:
    head = f"toolc: 1\nname: {name}\ndescription: Say hello to the whole world.\n"
    return f"{head}annotations: {annotations}\nbackend: {{shell: {{argv: [a]}}}}\n{more}"


@pytest.mark.parametrize(
    ("name", "annotations", "message"),
    [
        ("hello", "{read_only: true, destructive: true}", "this tool is annotated as both read-only and destructive"),
        ("delete_user", "{read_only: true}", "this tool is annotated as read-only, but its name contains 'delete'"),
        ("deleteUser", "{read_only: true}", "this tool is annotated as read-only, but its name contains 'delete'"),
        ("user-delete", "{read_only: true}", "this tool is annotated as read-only, but its name contains 'delete'"),
        ("purge_cache", "{destructive: false}", "this tool is annotated as harmless, but its name contains 'purge'"),
        ("list_users", "{destructive: true}", "this tool is annotated as destructive, but its name contains 'list'"),
    ],
)
def test_contradicting_annotations_are_reported(tmp_path: Path, name: str, annotations: str, message: str) -> None:
    assert messages(tmp_path, "TC805", spec(name, annotations)) == [message]


@pytest.mark.parametrize(
    ("name", "annotations"),
    [
        ("delete_user", "{destructive: true}"), ("list_users", "{read_only: true}"),
        ("remove_accents", "{read_only: true}"), ("list_deleted_users", "{read_only: true}"),
        ("undelete_user", "{destructive: false}"), ("get_or_create", "{read_only: false}"),
        ("create_user", "{destructive: false}"),
    ],
)  # fmt: skip
def test_consistent_annotations_are_not_reported(tmp_path: Path, name: str, annotations: str) -> None:
    assert messages(tmp_path, "TC805", spec(name, annotations)) == []


def test_changing_verbs_with_network_access_are_reported(tmp_path: Path) -> None:
    network = "sandbox: {network: {allow: ['a.example.com:443']}}\n"
    text = spec("send_report", "{read_only: true}", network)
    assert messages(tmp_path, "TC805", text) == ["this tool is annotated as read-only, but its name contains 'send'"]


@pytest.mark.parametrize(
    ("annotations", "expected"),
    [("{}", SILENT), ("{open_world: false}", SILENT), ("{read_only: false}", []), ("{destructive: false}", [])],
)
def test_missing_annotations_are_reported(tmp_path: Path, annotations: str, expected: list[str]) -> None:
    assert messages(tmp_path, "TC805", spec("hello", annotations)) == expected


def test_only_contradictions_are_on() -> None:
    assert codes.CONTRADICTION.enabled
    assert not codes.NO_ANNOTATION.enabled


@pytest.mark.parametrize(
    ("text", "reported"),
    [
        ("old", True), ("deprecated", True), ("This tool is deprecated.", True), ("no longer maintained", True),
        ("use find_text instead", False), ("see the tool search", False), ("replaced by lookup", False),
        ("find_text", False), ("gone after March 2027", False), ("removed on 2027-03-01", False),
        ("nothing replaces it", False),
    ],
)  # fmt: skip
def test_deprecations_without_a_replacement_are_reported(tmp_path: Path, text: str, *, reported: bool) -> None:
    found = findings(tmp_path, "TC803", shell("{}", "{argv: [a]}", f"deprecated: {text}\n"))
    assert found == (["tool.yaml:7:13 this text does not name a replacement"] if reported else [])


@pytest.mark.parametrize(
    ("more", "reported"),
    [("", True), ("tests: []\n", True), ("tests: [{args: {}}]\n", False), ("examples: [{}]\n", False)],
)
def test_tools_without_a_test_or_example_are_reported(tmp_path: Path, more: str, *, reported: bool) -> None:
    found = findings(tmp_path, "TC801", shell("{}", "{argv: [a]}", more))
    assert found == (["tool.yaml:2:7 this tool has no test and no example"] if reported else [])


ECHO = "backend: {shell: {argv: [echo]}}\n"


def test_tools_without_a_label_are_reported(tmp_path: Path) -> None:
    assert findings(tmp_path, "TC208", HEAD + ECHO) == ["tool.yaml:2:7 'hello' has no label"]


def test_tools_with_a_label_are_not_reported(tmp_path: Path) -> None:
    assert findings(tmp_path, "TC208", f"{HEAD}label: Say hello\n{ECHO}") == []
