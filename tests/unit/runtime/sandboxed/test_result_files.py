import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from workspaces.transaction_cases import DONE, FAILED, call, doing

from toolc.model.json_schema import Schema
from toolc.model.result import Audio, Image, Resource, Text, ToolResult
from toolc.model.spec.code_backends import Argv, ShellBackend
from toolc.model.spec.sandbox import Limits, SandboxSpec, TransactionSpec, WorkspaceMode
from toolc.model.spec.tool import ResultSpec, ToolSpec
from toolc.model.template import Placeholder, Template
from toolc.runtime.workspace import result_folder
from toolc.testing.fake_engine import FakeEngine

PNG = b"\x89PNG\r\n\x1a\n..."
WAV = b"RIFF\x24\0\0\0WAVEfmt "

Act = Callable[[Path], object]


def tool(*files: Template | str, mode: WorkspaceMode = "rw") -> ToolSpec:
    return ToolSpec(
        name="draw",
        description="d",
        parameters=Schema({"type": "object", "properties": {"path": {"type": "string"}}}),
        backend=ShellBackend(command=Argv(elements=(Template(("draw",)),))),
        result=ResultSpec(files=tuple(each if isinstance(each, Template) else Template((each,)) for each in files)),
        sandbox=SandboxSpec(
            workspace=mode,
            transaction=TransactionSpec(commit="never") if mode == "transaction" else None,
            limits=Limits(output_bytes=1000),
        ),
    )


def left(workspace: Path, act: Act, *files: Template | str) -> ToolResult:
    return call(doing(act), tool(*files), workspace)


def names(result: ToolResult) -> list[str]:
    assert not result.is_error, result.error
    return [block.name for block in result.content if isinstance(block, Resource)]


def problem(result: ToolResult) -> tuple[str, str]:
    assert result.error is not None
    return result.error.kind, result.error.message


def making(*paths: str) -> Act:
    """Return a function that creates these files, each with its name as content."""

    def act(folder: Path) -> None:
        for path in paths:
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(path)

    return act


@pytest.mark.parametrize(
    ("name", "data", "block"),
    [
        ("plot.dat", PNG, Image(PNG, "image/png")),
        ("said.dat", WAV, Audio(WAV, "audio/wav")),
        ("a.csv", b"1,2\n", Resource(b"1,2\n", "text/csv", "a.csv")),
        ("notes", "größer\n".encode(), Resource("größer\n".encode(), "text/plain", "notes")),
        ("a.bin", b"\xff\0", Resource(b"\xff\0", "application/octet-stream", "a.bin")),
        ("b.CSV", b"\xff", Resource(b"\xff", "application/octet-stream", "b.CSV")),
        ("a.pdf", b"%PDF", Resource(b"%PDF", "application/pdf", "a.pdf")),
        ("no.png", b"words", Resource(b"words", "text/plain", "no.png")),
        ("a.tar.gz", b"\x1f\x8b", Resource(b"\x1f\x8b", "application/octet-stream", "a.tar.gz")),
        ("empty", b"", Resource(b"", "text/plain", "empty")),
    ],
)
def test_a_file_is_an_image_audio_or_a_resource(
    tmp_path: Path, name: str, data: bytes, block: Image | Audio | Resource
) -> None:
    result = left(tmp_path, lambda folder: (folder / name).write_bytes(data), name)
    assert result.content == (Text("done\n"), block)


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("a.txt", ["a.txt"]), ("./d/b.txt", ["d/b.txt"]), ("*.txt", ["a.txt"]),
        ("**/*.txt", ["a.txt", "d/b.txt", "d/e/c.txt"]), ("d/**", ["d/b.txt", "d/e/c.txt"]), ("*/?.txt", ["d/b.txt"]),
        ("[!a].txt", []), ("**/.*/x", [".git/x"]), (".*", [".env"]), ("nothing/*", []),
    ],
)  # fmt: skip
def test_patterns_match_hidden_files_only_with_a_dot(tmp_path: Path, pattern: str, found: list[str]) -> None:
    act = making("a.txt", "d/b.txt", "d/e/c.txt", ".env", ".git/x", "d/.hidden/y.txt")
    assert names(left(tmp_path, act, pattern)) == found


def test_files_are_in_the_order_of_the_patterns_without_duplicates(tmp_path: Path) -> None:
    assert names(left(tmp_path, making("b", "a", "c"), "c", "[ab]", "*")) == ["c", "a", "b"]


def test_an_argument_is_a_path_not_a_pattern(tmp_path: Path) -> None:
    spec = tool(Template((Placeholder("path"),)), "kept")
    engine = doing(making("*", "[a]", "a", "d/b", "kept"))
    for path in ("*", "[a]", "d/b"):
        assert names(call(engine, spec, tmp_path, arguments={"path": path})) == [path, "kept"]
    assert names(call(engine, spec, tmp_path)) == ["kept"]


@pytest.mark.parametrize("path", ["../x", "/etc/passwd", "", "a/./b", "a//b", "a\0", "d/.."])
def test_an_argument_that_leads_out_of_the_workspace_is_refused(tmp_path: Path, path: str) -> None:
    engine = doing(lambda _: pytest.fail("it started"))
    kind, message = problem(call(engine, tool(Template((Placeholder("path"),))), tmp_path, arguments={"path": path}))
    assert (kind, message) == ("invalid_args", f"path: {path!r} is not a path of a file in the workspace")


def test_a_missing_file_is_an_error_with_the_tools_output(tmp_path: Path) -> None:
    result = left(tmp_path, lambda _: None, "a.png")
    assert problem(result) == ("not_found", "the tool left no file 'a.png'")
    assert result.text == "done\n[the tool left no file 'a.png']"


def test_links_are_not_followed_and_only_files_are_read(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "key").write_text("outside")

    def act(folder: Path) -> None:
        (folder / "link").symlink_to(secret / "key")
        (folder / "inside").symlink_to("real")
        (folder / "folder").symlink_to(secret)
        os.mkfifo(folder / "fifo")
        (folder / "dir").mkdir()
        (folder / "real").write_text("x")

    workspace = tmp_path / "work"
    workspace.mkdir()
    assert names(left(workspace, act, "**/*", "*")) == ["real"]
    for name, why in {
        "link": "is not a file but a symbolic link, which is not followed",
        "inside": "is not a file but a symbolic link, which is not followed",
        "fifo": "is not a file",
        "dir": "is not a file but a folder",
    }.items():
        result = call(FakeEngine(lambda _: DONE), tool(name), workspace)
        assert problem(result) == ("file", f"'{name}' {why}")
    assert problem(call(FakeEngine(lambda _: DONE), tool("folder/key"), workspace))[0] == "not_found"


def test_a_file_replaced_by_a_link_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "outside").write_text("outside")
    workspace = tmp_path / "work"
    workspace.mkdir()
    look = result_folder.FinalFolder._has_rights

    def swap(self: result_folder.FinalFolder, status: os.stat_result | None, rights: int) -> bool:
        (workspace / "a").unlink(missing_ok=True)
        (workspace / "a").symlink_to(tmp_path / "outside")
        return look(self, status, rights)

    monkeypatch.setattr(result_folder.FinalFolder, "_has_rights", swap)
    kind, message = problem(left(workspace, making("a"), "a"))
    assert kind == "file"
    assert message.startswith("the file 'a' cannot be read: ")


def test_files_that_the_tool_may_not_read_are_not_returned(tmp_path: Path) -> None:
    def act(folder: Path) -> None:
        making("closed/a", "b", "c")(folder)
        (folder / "b").chmod(0)
        (folder / "closed").chmod(0)

    try:
        assert names(left(tmp_path, act, "**/a", "c")) == ["c"]
        for path, why in {
            "b": "has no permission to read it",
            "closed/a": "has no permission to access its folder",
        }.items():
            result = call(FakeEngine(lambda _: DONE), tool(path), tmp_path)
            if os.geteuid() == 0:
                message = f"the file '{path}' cannot be read: the tool {why}"
                assert problem(result) == ("denied", message)
            else:
                assert result.is_error
    finally:
        (tmp_path / "closed").chmod(0o700)


def test_all_files_together_are_limited(tmp_path: Path) -> None:
    def act(folder: Path) -> None:
        (folder / "a").write_bytes(bytes(600))
        (folder / "b").write_bytes(bytes(400))
        (folder / "c").write_bytes(bytes(1))

    assert names(left(tmp_path, act, "a", "b")) == ["a", "b"]
    message = (
        "the files to return exceed the output limit of 1000 bytes ('c' is the first that does not fit); request less"
    )
    assert problem(left(tmp_path, act, "*")) == ("output_limit", message)


def test_at_most_a_hundred_files_are_returned(tmp_path: Path) -> None:
    assert len(names(left(tmp_path, making(*(f"f{n}" for n in range(100))), "*"))) == 100
    assert problem(left(tmp_path, making("one-more"), "*")) == (
        "output_limit",
        "the tool left 101 files to return, but the limit is 100; request fewer",
    )


def test_a_folder_with_too_many_entries_is_not_searched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(result_folder, "MAX_ENTRIES", 10)
    assert problem(left(tmp_path, making(*(f"d/f{n}" for n in range(10))), "**/x")) == (
        "file",
        "the workspace has more than 10 files, the limit of result.files",
    )


def test_errors_are_unchanged(tmp_path: Path) -> None:
    result = call(FakeEngine(lambda _: FAILED), tool("a"), tmp_path)
    assert problem(result) == ("exit_status", "the command ended with exit status 1")


def test_a_workspace_that_was_replaced_is_not_read(tmp_path: Path) -> None:
    workspace = tmp_path / "work"
    workspace.mkdir()

    def act(folder: Path) -> None:
        folder.rename(tmp_path / "old")
        folder.mkdir()
        (folder / "a").write_text("another's")

    assert problem(left(workspace, act, "a")) == (
        "file",
        "the workspace was replaced by another folder while the tool ran",
    )


def test_a_transaction_returns_uncommitted_files(tmp_path: Path) -> None:
    (tmp_path / "kept").write_text("kept")
    (tmp_path / "gone").write_text("gone")

    def act(folder: Path) -> None:
        making("new", "d/deep")(folder)
        (folder / "gone").unlink()

    result = call(doing(act), tool("**", mode="transaction"), tmp_path)
    assert names(result) == ["d/deep", "kept", "new"]
    assert sorted(each.name for each in tmp_path.iterdir()) == ["gone", "kept"]


def test_files_follow_the_formatted_output(tmp_path: Path) -> None:
    spec = replace(tool("a"), result=replace(tool("a").result, format="none"))
    assert call(doing(making("a")), spec, tmp_path).content == (Resource(b"a", "text/plain", "a"),)
