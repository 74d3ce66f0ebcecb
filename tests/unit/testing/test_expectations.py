"""Expectations of tests in specs, and the differences from results."""

import os
from pathlib import Path

import pytest

from toolc.model.errors import UsageError
from toolc.model.json_schema import JsonObject, JsonValue
from toolc.model.result import Text, ToolResult, failure
from toolc.model.spec.code_backends import File
from toolc.model.spec.sandbox import Destination
from toolc.model.spec.tool import Expect, ExpectedNetwork
from toolc.testing.expectations import compare
from toolc.testing.workspace import Changes, changes, file_texts, snapshot, write_files


def problems(expect: Expect, result: ToolResult, workspace: Path = Path()) -> list[str]:
    return list(compare(expect, result, workspace))


def result_of(text: str) -> ToolResult:
    return ToolResult(content=(Text(text),))


def test_default_expectation_is_success() -> None:
    assert problems(Expect(), result_of("x")) == []
    assert problems(Expect(), failure("file", "gone")) == ["expected no error, got the error file:\ngone"]


def test_an_expected_error_is_compared() -> None:
    assert problems(Expect(error="file"), failure("file", "gone")) == []
    assert problems(Expect(error="file"), result_of("x")) == ["expected the error file, got no error"]
    assert problems(Expect(error="file"), failure("denied", "no")) == [
        "expected the error file, got the error denied:\nno"
    ]


def test_the_place_of_an_unexpected_failure_is_printed() -> None:
    failed = failure("execution", "KeyError: 3", {"file": "tool.py", "line": 7})
    assert problems(Expect(), failed) == ["expected no error, got the error execution at tool.py, line 7:\nKeyError: 3"]


@pytest.mark.parametrize(
    ("expected", "got", "same"),
    [
        (1, 1.0, True), (1, True, False), (0, False, False), (2**60, 2**60, True), (None, None, True),
        ({"a": 1, "b": [2]}, {"b": [2], "a": 1}, True), ([1, 2], [2, 1], False),
    ],
)  # fmt: skip
def test_json_is_compared_by_value(expected: JsonValue, got: JsonValue, *, same: bool) -> None:
    assert (problems(Expect(json=(expected,)), ToolResult(content=(), structured=(got,))) == []) is same


@pytest.mark.parametrize(
    ("expected", "got", "same"),
    [
        ({"a": 1}, {"a": 1, "b": 2}, True), ({"a": {}}, {"a": {"b": 2}}, True),
        ([{"a": 1}, {}], [{"a": 1, "b": 2}, {"c": 3}], True), ([], [1], False), ([{"a": 1}], [{"a": 1}, {}], False),
        ({"a": None}, {}, False), ({}, [], False),
    ],
)  # fmt: skip
def test_json_may_have_more_keys_and_structured_may_not(expected: JsonValue, got: JsonValue, *, same: bool) -> None:
    result = ToolResult(content=(), structured=(got,))
    assert (problems(Expect(json=(expected,)), result) == []) is same
    assert problems(Expect(structured=(expected,)), result)
    assert problems(Expect(structured=(got,)), result) == []


def test_json_difference_omits_other_keys() -> None:
    result = ToolResult(content=(), structured=({"a": 2, "b": 3},))
    (found,) = problems(Expect(json=({"a": 1},)), result)
    assert '"b"' not in found
    assert problems(Expect(structured=(1,)), result_of("1")) == ["expected structured data, got the text:\n1"]


def test_text_is_parsed_as_json() -> None:
    assert problems(Expect(json=({"a": 1},)), result_of('{"a": 1}\n')) == []
    assert problems(Expect(json=(1,)), result_of("one")) == ["expected JSON, got the text:\none"]
    assert problems(Expect(json=(1,)), result_of("")) == ["expected JSON, got nothing"]


def test_difference_shows_missing_newline_at_end() -> None:
    assert problems(Expect(text="a\nb\n"), result_of("a\nb")) == [
        "the text differs:\n--- expected\n+++ got\n@@ -1,2 +1,2 @@\n a\n-b\n+b\n\\ No newline at end of file"
    ]


def test_files_are_written_and_compared(tmp_path: Path) -> None:
    files = (File(path="a/b.txt", text="ä\n"), File(path="c.bin", base64="AP8="))
    write_files(files, tmp_path)
    assert (tmp_path / "a" / "b.txt").read_bytes() == b"\xc3\xa4\n"
    assert problems(Expect(files=files), result_of(""), tmp_path) == []
    (tmp_path / "c.bin").write_bytes(b"x")
    (found,) = problems(Expect(files=files), result_of(""), tmp_path)
    assert found.startswith("c.bin differs:\n")


@pytest.mark.parametrize("link", ["a", "a/b.txt"])
def test_links_are_not_followed(link: str, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "b.txt").write_text("secret")
    workspace = tmp_path / "workspace"
    (workspace / link).parent.mkdir(parents=True)
    (workspace / link).symlink_to(outside if link == "a" else outside / "b.txt")
    expect = Expect(files=(File(path="a/b.txt", text="secret"),))
    assert problems(expect, result_of(""), workspace) == [f"a/b.txt: expected a file, but {link} is a symbolic link"]


@pytest.mark.parametrize("path", ["../x", "/x", "a/../../x", ""])
def test_file_outside_the_workspace_is_rejected(path: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="outside its workspace"):
        write_files((File(path=path, text=""),), tmp_path / "workspace")


def connected(*hosts: str, refused: str) -> ToolResult:
    """Return the result of a call that connected to these hosts, and tried another one."""
    attempts: list[JsonValue] = [{"host": host, "port": 443, "allowed": True} for host in hosts]
    return ToolResult(content=(), details={"network": [*attempts, {"host": refused, "port": 443, "allowed": False}]})


def test_reached_destinations_must_be_listed() -> None:
    result = connected("a.example", "b.c.example", refused="evil.example")
    exact = Destination(kind="exact", host="a.example", port=443)
    wildcard = Destination(kind="wildcard", host="c.example", port=443)
    assert problems(Expect(network=()), result_of("x")) == []
    assert problems(Expect(network=(exact,)), result_of("x")) == []
    assert problems(Expect(network=(exact, wildcard)), result) == []
    assert problems(Expect(network=(Destination(kind="public", host="", port=443),)), result) == []
    assert problems(Expect(network=(exact,)), result) == [
        "the call reached b.c.example:443, which expect.network does not list"
    ]
    assert problems(Expect(network=(Destination(kind="exact", host="c.example", port=443),)), result) == [
        "the call reached a.example:443, which expect.network does not list",
        "the call reached b.c.example:443, which expect.network does not list",
    ]


def test_connections_must_equal_the_lists() -> None:
    result = connected("a.example", refused="evil.example")
    good = Destination(kind="exact", host="a.example", port=443)
    evil = Destination(kind="exact", host="evil.example", port=443)

    def differences(allowed: tuple[Destination, ...] | None, refused: tuple[Destination, ...] | None) -> list[str]:
        return problems(Expect(connections=ExpectedNetwork(allowed=allowed, refused=refused)), result)

    assert differences(None, None) == differences((good,), (evil,)) == differences((good,), None) == []
    assert differences((), (evil, good)) == [
        "the call reached a.example:443, which expect.network.allowed does not list",
        "the call was not refused a.example:443, which expect.network.refused lists",
    ]
    assert differences((good, evil), ()) == [
        "the call did not reach evil.example:443, which expect.network.allowed lists",
        "the call was refused evil.example:443, which expect.network.refused does not list",
    ]


def test_changes_between_snapshots_are_listed(tmp_path: Path) -> None:
    write_files((File(path="a/same", text="x"), File(path="changed", text="x"), File(path="gone", text="x")), tmp_path)
    (tmp_path / "link").symlink_to("a")
    before = snapshot(tmp_path)
    assert changes(before, snapshot(tmp_path), result_of("")) == Changes()
    write_files((File(path="changed", text="y"), File(path="new/file", text="")), tmp_path)
    (tmp_path / "gone").unlink()
    (tmp_path / "link").unlink()
    (tmp_path / "link").symlink_to("new")
    os.mkfifo(tmp_path / "pipe")
    assert changes(before, snapshot(tmp_path), result_of("")) == Changes(
        added=("new/file", "pipe"), changed=("changed", "link"), deleted=("gone",)
    )


def test_uncommitted_changes_are_listed() -> None:
    listed: JsonObject = {
        "committed": False,
        "added": [{"path": "b", "kind": "file"}, {"path": "a", "kind": "directory"}],
        "changed": [],
        "deleted": [{"path": "c", "kind": "symlink"}],
    }
    result = ToolResult(content=(), details={"changes": listed})
    assert changes({}, {}, result) == Changes(added=("b",), deleted=("c",))


def test_file_texts_omit_binary_files_and_links(tmp_path: Path) -> None:
    write_files((File(path="text", text="ä"), File(path="bytes", base64="/w==")), tmp_path)
    (tmp_path / "link").symlink_to("/etc/passwd")
    expect = Expect(files=tuple(File(path=name, text="") for name in ("text", "bytes", "link")), absent=("none",))
    assert file_texts(expect, tmp_path) == {"text": "ä", "none": None}
    assert problems(Expect(absent=("none", "link")), result_of(""), tmp_path) == [
        "link: expected not to exist, but it exists"
    ]
