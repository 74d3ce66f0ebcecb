"""The built-in tools that need no network: the tests of their specs on both engines, and more cases of files."""

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeAlias

import pytest
from calls.http_tools import failed
from cli.command_line import run
from engines.image_cases import usable
from project.paths import SPECS

from toolc.client.executor import Executor
from toolc.client.registry import Registry
from toolc.compiler.pipeline.compile import compile_specs
from toolc.model.json_schema import JsonValue
from toolc.model.result import ToolResult
from toolc.reporters.text import render
from toolc.sandbox.oci.engine import OciEngine

Edit: TypeAlias = Callable[..., ToolResult]
"""Writes ``before`` to ``a.txt``, calls ``file_edit`` with the other arguments, and returns the result."""


def test_builtin_specs_have_no_findings() -> None:
    assert render(compile_specs([SPECS, SPECS / "schedule_runner.yaml"]).diagnostics, color=False) == ""


def run_tests_of_specs(engine: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("test", str(SPECS), str(SPECS / "schedule_runner.yaml"), "--engine", engine, "-j", "2") == 0, (
        capsys.readouterr()
    )


@pytest.mark.timeout(600)
def test_tests_of_the_builtin_specs_pass(engine: OciEngine, capsys: pytest.CaptureFixture[str]) -> None:
    run_tests_of_specs("oci", capsys)


@pytest.mark.integrations
@pytest.mark.timeout(600)
def test_tests_of_the_builtin_specs_pass_with_docker(capsys: pytest.CaptureFixture[str]) -> None:
    usable("docker")
    run_tests_of_specs("docker", capsys)


def test_builtin_tools_are_tested_by_toolset(engine: OciEngine, capsys: pytest.CaptureFixture[str]) -> None:
    code = run("test", "--builtin", "readonly", "--tool", "word_count", "--engine", "oci")
    assert (code, "4 passed" in capsys.readouterr().out) == (0, True)
    code = run("test", "--builtin", "readonly", "--update")
    assert (code, "cannot change built-in tools" in capsys.readouterr().err) == (2, True)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


@pytest.fixture
def edit(engine: OciEngine, folder: Path) -> Iterator[Edit]:
    with Executor(Registry.load(f"{SPECS}/files.yaml#file_edit"), workspace=folder, engine=engine) as executor:

        def edit(before: str, **arguments: JsonValue) -> ToolResult:
            (folder / "a.txt").write_bytes(before.encode())
            return executor.run("file_edit", {"path": "a.txt", **arguments})

        yield edit


def after(folder: Path) -> str:
    return (folder / "a.txt").read_bytes().decode()


APPLIED = {
    "two hunks with wrong counts": (
        "1\n2\n3\n4\n5\n6\n",
        "--- a/a.txt\n+++ b/a.txt\n@@ -1,1 +1,1 @@\n 1\n-2\n+two\n@@ -9,7 +9,7 @@\n 5\n+five and a half\n",
        "1\ntwo\n3\n4\n5\nfive and a half\n6\n",
    ),
    "headers without numbers, blank context lines without a space": (
        "a\n\nb\n", "@@ ... @@\n a\n\n-b\n+c\n", "a\n\nc\n"
    ),
    "the stated one of two equal places": ("x\ny\nx\n", "@@ -3 +3 @@\n-x\n+z\n", "x\ny\nz\n"),
    "lines added at the start": ("a\n", "@@ -0,0 +1,2 @@\n+1\n+2\n", "1\n2\na\n"),
    "a line end added": ("a\nb", "@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+b\n", "a\nb\n"),
    "a line end removed": ("a\nb\n", "@@ -2 +2 @@\n-b\n+b\n\\ No newline at end of file\n", "a\nb"),
    "no line end before or after": (
        "a\nb", "@@ -2 +2 @@\n-b\n\\ No newline at end of file\n+c\n\\ No newline at end of file\n", "a\nc"
    ),
    "a removed line that begins with two dashes": ("-- a\nb\n", "@@ -1,2 +1 @@\n--- a\n b\n", "b\n"),
    "everything removed": ("a\n", "@@ -1 +0,0 @@\n-a\n", ""),
    "carriage returns in the file": ("a\r\nb\r\n", "@@ -1,2 +1,2 @@\n a\n-b\n+c\n", "a\r\nc\r\n"),
}  # fmt: skip


@pytest.mark.parametrize("name", APPLIED)
def test_a_diff_is_applied(name: str, edit: Edit, folder: Path) -> None:
    before, diff, expected = APPLIED[name]
    result = edit(before, diff=diff)
    assert (result.error, after(folder)) == (None, expected)


REFUSED: dict[str, tuple[str, dict[str, JsonValue], str]] = {
    "two files": ("a\n", {"diff": "--- a\n+++ a\n@@ -1 +1 @@\n-a\n+b\n--- c\n+++ c\n@@ -1 +1 @@\n-a\n+b\n"},
                  "the diff changes 2 files; call file_edit once for each"),
    "no hunk": ("a\n", {"diff": "-a\n+b\n"}, "diff has no hunk"),
    "a line without a sign": ("a\n", {"diff": "@@ -1 +1 @@\na\n"}, "line 2 of the diff begins with 'a'"),
    "hunks in the wrong order": (
        "a\nb\n", {"diff": "@@ -2 +2 @@\n-b\n+c\n@@ -1 +1 @@\n-a\n+d\n"}, "hunk 2 of the diff expects do not occur"
    ),
    "only new lines without a place": ("a\n", {"diff": "@@ @@\n+b\n"}, "hunk 1 has only new lines"),
    "no change": ("a\n", {"diff": "@@ -1 +1 @@\n a\n"}, "the diff changes nothing"),
    "equal texts": ("a\n", {"old_text": "a", "new_text": "a"}, "are equal"),
    "only old_text": ("a\n", {"old_text": "a"}, "give either old_text and new_text, or diff alone"),
    "fewer places than expected": (
        "tea\n", {"old_text": "tea", "new_text": "jam", "expected_count": 2}, "occurs once in a.txt, not 2 times"
    ),
    "a wrong letter": ("first\nsecond line\n", {"old_text": "second lime", "new_text": "x"}, "places:\n2: second line"),
    "places that overlap": (
        "}\n}\n}\n", {"old_text": "}\n}\n", "new_text": "}\n"}, "occurs 2 times in a.txt, not once: at lines 1, 2."
    ),
    "two places that overlap": (
        "}\n}\n}\n", {"old_text": "}\n}\n", "new_text": "}\n", "expected_count": 2}, "overlap, at lines 1, 2"
    ),
    "an encoding with NUL": ("a\n", {"old_text": "a", "new_text": "b", "encoding": "utf\0"}, "there is no encoding"),
    "an unknown encoding": ("a\n", {"old_text": "a", "new_text": "b", "encoding": "klingon"}, "no encoding 'klingon'"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_an_edit_that_does_not_fit_changes_nothing(name: str, edit: Edit, folder: Path) -> None:
    before, arguments, message = REFUSED[name]
    result = edit(before, **arguments)
    kind, said = failed(result)
    assert (kind, after(folder), message in said) == ("invalid_args", before, True), said


def test_an_edit_keeps_the_mode_and_leaves_no_other_file(edit: Edit, folder: Path) -> None:
    (folder / "a.txt").write_text("")
    (folder / "a.txt").chmod(0o751)
    assert edit("a\n", old_text="a", new_text="b").error is None
    assert (folder / "a.txt").stat().st_mode & 0o777 == 0o751
    assert [each.name for each in folder.iterdir()] == ["a.txt"]


def edits_with(code: str, folder: Path) -> str:
    """Return a copy of ``file_edit`` that runs ``code`` between its reading and its writing.

    No stall of the machine ends a call, its search, or its wait for another call.
    """
    folder.mkdir()
    for each in SPECS.glob("file*"):
        text = each.read_text(encoding="utf-8").replace("    after = ch", f"    {code}\n    after = ch")
        text = re.sub(r"((?:WAIT|SEARCH)_SECONDS =|timeout:) [\d.]+", r"\1 100", text)
        (folder / each.name).write_text(text, encoding="utf-8")
    return f"{folder}/files.yaml#file_edit"


def test_edits_at_the_same_time_are_made_one_after_the_other(engine: OciEngine, folder: Path) -> None:
    spec = edits_with("time.sleep(0.5)", folder / "specs")
    (folder / "work").mkdir()
    (folder / "work/a.txt").write_text("a\nb\nc\n", encoding="utf-8")
    with (
        Executor(Registry.load(spec), workspace=folder / "work", engine=engine) as executor,
        ThreadPoolExecutor(3) as agents,
    ):

        def edit(letter: str) -> ToolResult:
            return executor.run("file_edit", {"path": "a.txt", "old_text": letter, "new_text": letter.upper()})

        assert [result.error for result in agents.map(edit, "abc")] == [None] * 3
    assert (folder / "work/a.txt").read_text(encoding="utf-8") == "A\nB\nC\n"


def test_a_file_that_another_program_changes_during_an_edit_is_a_conflict(engine: OciEngine, folder: Path) -> None:
    spec = edits_with("target.write_text('other')", folder / "specs")
    (folder / "work").mkdir()
    (folder / "work/a.txt").write_text("tea", encoding="utf-8")
    with Executor(Registry.load(spec), workspace=folder / "work", engine=engine) as executor:
        result = executor.run("file_edit", {"path": "a.txt", "old_text": "tea", "new_text": "jam"})
    assert failed(result) == (
        "conflict", "a.txt was changed by another program during this edit, so it was not edited; read it again"
    )  # fmt: skip
    assert [(each.name, each.read_text(encoding="utf-8")) for each in (folder / "work").iterdir()] == [
        ("a.txt", "other")
    ]


def test_near_misses_in_a_large_file_are_found(engine: OciEngine, folder: Path) -> None:
    lines = [f"value_{number} = compute({number}, {number % 7})" for number in range(20_000)]
    spec, old_text = edits_with("pass", folder / "specs"), "value_12345 = compute(12345,  4)\nvalue_12346"
    (folder / "a.txt").write_text("\n".join(lines), encoding="utf-8")
    with Executor(Registry.load(spec), workspace=folder, engine=engine) as executor:
        result = executor.run("file_edit", {"path": "a.txt", "old_text": old_text, "new_text": "x"})
    cpu_ms = result.details["cpu_ms"]
    assert isinstance(cpu_ms, int | float)
    assert cpu_ms < 3000  # the original gives up after 3 s
    kind, message = failed(result)
    assert (kind, "12346: value_12345 = compute(12345, 4)" in message) == ("invalid_args", True)


def test_near_misses_among_very_many_similar_lines_are_found_within_the_time_limit(edit: Edit) -> None:
    lines = [
        f"10:{n % 60:02d}:{n % 59:02d} INFO request handled in {n % 977} ms by worker {n % 13}" for n in range(80_000)
    ]
    result = edit("\n".join(lines), old_text="10:61:00 INFO request handled in 5 ms by worker 99", new_text="x")
    kind, message = failed(result)
    assert (kind, "The most similar places:" in message) == ("invalid_args", True)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("file_read", {}),
        ("file_write", {"content": "a", "append": True}),
        ("file_edit", {"old_text": "a", "new_text": "b"}),
    ],
)
def test_a_pipe_is_refused_at_once(engine: OciEngine, folder: Path, name: str, arguments: dict[str, JsonValue]) -> None:
    os.mkfifo(folder / "pipe")
    with Executor(Registry.load(f"{SPECS}/files.yaml#{name}"), workspace=folder, engine=engine) as executor:
        result = executor.run(name, {"path": "pipe", **arguments})
    assert failed(result) == ("file", "pipe: it is not an ordinary file")


def test_a_long_file_is_read_in_parts(engine: OciEngine, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("".join(f"{number:09}\n" for number in range(20_000)), encoding="utf-8")
    (tmp_path / "b.txt").write_text("é" * 100_001, encoding="utf-8")
    with Executor(Registry.load(f"{SPECS}/files.yaml#file_read"), workspace=tmp_path, engine=engine) as executor:
        first = executor.run("file_read", {"path": "a.txt"})
        assert isinstance(first.data, dict)
        assert (len(str(first.data["content"])), first.data["truncated"]) == (100_000, True)
        assert first.text.endswith("[cut after 100000 characters; read the rest with start_line and max_lines]")
        rest = executor.run("file_read", {"path": "a.txt", "start_line": 10_001, "max_lines": 10_000})
        assert isinstance(rest.data, dict)
        assert (str(rest.data["content"])[:10], rest.data["truncated"]) == ("000010000\n", False)
        line = executor.run("file_read", {"path": "b.txt"})
        assert isinstance(line.data, dict)
        assert (line.data["content"], line.data["truncated"]) == ("é" * 100_000, True)


@pytest.fixture
def write(engine: OciEngine, folder: Path) -> Iterator[Callable[..., ToolResult]]:
    """Return a function that calls file_write in the folder."""
    with Executor(Registry.load(f"{SPECS}/files.yaml#file_write"), workspace=folder, engine=engine) as executor:
        yield lambda path, content, **options: executor.run("file_write", {"path": path, "content": content, **options})


def test_a_write_keeps_the_mode_and_follows_a_link(write: Callable[..., ToolResult], folder: Path) -> None:
    (folder / "a.txt").write_text("old", encoding="utf-8")
    (folder / "a.txt").chmod(0o751)
    (folder / "link").symlink_to("a.txt")
    assert write("link", "new").error is None
    assert write("b.txt", "new").error is None
    assert (folder / "link").is_symlink()
    assert (after(folder), (folder / "a.txt").stat().st_mode & 0o777) == ("new", 0o751)
    assert (folder / "b.txt").stat().st_mode & 0o777 == 0o644
    assert sorted(each.name for each in folder.iterdir()) == ["a.txt", "b.txt", "link"]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32", "latin-1"])
def test_appended_text_has_no_byte_order_mark(write: Callable[..., ToolResult], folder: Path, encoding: str) -> None:
    assert write("a.txt", "é", append=True, encoding=encoding).error is None
    assert write("a.txt", "é", append=True, encoding=encoding).error is None
    assert (folder / "a.txt").read_text(encoding=encoding) == "éé"


@pytest.mark.parametrize("append", [True, False])
def test_a_write_that_fails_leaves_the_old_file(write: Callable[..., ToolResult], folder: Path, append: bool) -> None:
    (folder / "a.txt").write_text("old", encoding="utf-8")
    (folder / "pipe").symlink_to("/dev/full")
    (folder / "a.txt").chmod(0o444)
    assert write("pipe", "new").error is not None
    assert write("a.txt", "new", append=append).error is not None
    assert after(folder) == "old"
    assert sorted(each.name for each in folder.iterdir()) == ["a.txt", "pipe"]


WRITER = """\
import sys
from toolc import Executor, Registry
with Executor(Registry.load(sys.argv[1]), workspace=sys.argv[2], engine="oci") as executor:
    for number in range(10**6):
        executor.run("file_write", {"path": "a.txt", "content": str(number % 10) * 400_000})
        print(number, flush=True)
"""


@pytest.mark.integrations
def test_a_file_is_never_partly_written(engine: OciEngine, folder: Path) -> None:
    argv = [sys.executable, "-c", WRITER, f"{SPECS}/files.yaml#file_write", str(folder)]
    seen: set[str] = set()
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        writer.stdout.readline()
        while len(seen) < 5:
            text = after(folder)
            assert (len(text), len({*text})) == (400_000, 1)
            seen.add(text[0])
        writer.kill()
    text = after(folder)
    assert (len(text), len({*text})) == (400_000, 1)
