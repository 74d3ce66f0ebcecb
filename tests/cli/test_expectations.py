"""What a spec's test expects, and the difference where it came out otherwise."""

from __future__ import annotations

from pathlib import Path

import pytest

from toolc.cli.expectations import compare, place
from toolc.errors import UsageError
from toolc.result import Text, ToolResult, failure
from toolc.schema import JsonValue
from toolc.spec import Destination, Expect, File


def problems(expect: Expect, result: ToolResult, workspace: Path = Path()) -> list[str]:
    return list(compare(expect, result, workspace))


def said(text: str) -> ToolResult:
    return ToolResult(content=(Text(text),))


def test_nothing_expected_is_still_success() -> None:
    assert problems(Expect(), said("x")) == []
    assert problems(Expect(), failure("file", "gone")) == ["expected no error, got the error file:\ngone"]


def test_an_expected_error_must_come_and_be_of_its_kind() -> None:
    assert problems(Expect(error="file"), failure("file", "gone")) == []
    assert problems(Expect(error="file"), said("x")) == ["expected the error file, got no error"]
    assert problems(Expect(error="file"), failure("denied", "no")) == [
        "expected the error file, got the error denied:\nno"
    ]


@pytest.mark.parametrize(
    ("wanted", "got", "same"),
    [
        (1, 1.0, True),
        (1, True, False),
        (0, False, False),
        (2**60, 2**60, True),
        (None, None, True),
        ({"a": 1, "b": [2]}, {"b": [2], "a": 1}, True),
        ([1, 2], [2, 1], False),
    ],
)
def test_json_is_compared_as_json(wanted: JsonValue, got: JsonValue, *, same: bool) -> None:
    assert (problems(Expect(json=(wanted,)), ToolResult(content=(), structured=(got,))) == []) is same


def test_json_that_a_tool_printed_as_text_counts() -> None:
    assert problems(Expect(json=({"a": 1},)), said('{"a": 1}\n')) == []
    assert problems(Expect(json=(1,)), said("one")) == ["expected JSON, got the text:\none"]
    assert problems(Expect(json=(1,)), said("")) == ["expected JSON, got nothing"]


def test_a_difference_shows_a_missing_last_line_feed() -> None:
    assert problems(Expect(text="a\nb\n"), said("a\nb")) == [
        "the text differs:\n--- expected\n+++ got\n@@ -1,2 +1,2 @@\n a\n-b\n+b\n\\ no line feed at the end"
    ]


def test_files_are_placed_and_compared(tmp_path: Path) -> None:
    files = (File(path="a/b.txt", text="ä\n"), File(path="c.bin", base64="AP8="))
    place(files, tmp_path)
    assert (tmp_path / "a" / "b.txt").read_bytes() == b"\xc3\xa4\n"
    assert problems(Expect(files=files), said(""), tmp_path) == []
    (tmp_path / "c.bin").write_bytes(b"x")
    (found,) = problems(Expect(files=files), said(""), tmp_path)
    assert found.startswith("c.bin differs:\n")


@pytest.mark.parametrize("link", ["a", "a/b.txt"])
def test_a_link_that_a_tool_made_is_not_followed(link: str, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "b.txt").write_text("secret")
    workspace = tmp_path / "workspace"
    (workspace / link).parent.mkdir(parents=True)
    (workspace / link).symlink_to(outside if link == "a" else outside / "b.txt")
    expect = Expect(files=(File(path="a/b.txt", text="secret"),))
    assert problems(expect, said(""), workspace) == [f"a/b.txt: expected a file, and {link} is a symbolic link"]


@pytest.mark.parametrize("path", ["../x", "/x", "a/../../x", ""])
def test_a_file_outside_the_workspace_is_refused(path: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="outside its workspace"):
        place((File(path=path, text=""),), tmp_path / "workspace")


def test_a_call_reaches_nothing_but_what_is_listed() -> None:
    attempts: list[JsonValue] = [
        {"host": "a.example", "port": 443, "allowed": True},
        {"host": "b.c.example", "port": 443, "allowed": True},
        {"host": "evil.example", "port": 443, "allowed": False},
    ]
    result = ToolResult(content=(), details={"network": attempts})
    exact = Destination(kind="exact", host="a.example", port=443)
    wildcard = Destination(kind="wildcard", host="c.example", port=443)

    assert problems(Expect(network=()), said("x")) == []
    assert problems(Expect(network=(exact,)), said("x")) == []
    assert problems(Expect(network=(exact, wildcard)), result) == []
    assert problems(Expect(network=(Destination(kind="public", host="", port=443),)), result) == []
    assert problems(Expect(network=(exact,)), result) == [
        "reached b.c.example:443, which expect.network does not list"
    ]
    assert problems(Expect(network=(Destination(kind="exact", host="c.example", port=443),)), result) == [
        "reached a.example:443, which expect.network does not list",
        "reached b.c.example:443, which expect.network does not list",
    ]
