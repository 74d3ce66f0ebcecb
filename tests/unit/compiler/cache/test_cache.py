"""A cached answer is the compiler's own, whatever changed and whatever the cache file holds."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import pytest

from toolc.compiler.cache import answers, file
from toolc.compiler.cache.check_cache import Checked, check_specs
from toolc.compiler.checks import check_together
from toolc.compiler.located_tool import LocatedTool
from toolc.compiler.pipeline.compile import Compilation, Gather, Together, compile_specs
from toolc.compiler.pipeline.compile_file import FileCompiler, Piece
from toolc.compiler.project.discovery import SpecFile
from toolc.compiler.project.settings import NO_SETTINGS, Settings
from toolc.document.nodes import Document
from toolc.model.codes import SIMILAR_NAME
from toolc.model.diagnostics import Diagnostic, Diagnostics
from toolc.reporters import FORMATS, render
from toolc.reporters.base import Report

SPEC = """\
toolc: 1
name: {name}
description: Count the words of the file number {name} and say how many there are.
parameters:
  path: {{type: string, description: The file to read}}
backend:
  shell: {{argv: [wc, --, "{{{{ path }}}}"]}}
"""
PYTHON = """\
toolc: 1
name: counter
description: Count the characters of a text and say how many there are.
parameters:
  text: {type: string, description: The text to count}
backend:
  python: {file: counter.py, files: ["data/*.txt"]}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with three tools, in which nothing counts as changed just now, and a cache of its own."""
    project = tmp_path / "project"
    for path, text in {
        "toolc.yaml": "vars: {word: one}\n",
        "specs/a.yaml": SPEC.format(name="alpha"),
        "specs/b.yaml": SPEC.format(name="beta").replace("[wc, --,", "[wc,"),
        "specs/counter.yaml": PYTHON,
        "specs/counter.py": "def counter(text):\n    return len(text)\n",
        "specs/data/one.txt": "one\n",
    }.items():
        place = project / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")
    (project / ".git").mkdir()
    monkeypatch.chdir(project)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(answers, "_RACY_NS", -(10**18))
    return project


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Grows with each compilation."""
    runs: list[object] = []

    def counted(paths: list[Path], settings: Settings, gather: Gather, together: Together) -> Compilation:
        runs.append(paths)
        return compile_specs(paths, settings, gather, together)

    monkeypatch.setattr("toolc.compiler.pipeline.compile.compile_specs", counted)
    return runs


@pytest.fixture
def files(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files that were compiled, in order."""
    names: list[str] = []
    compile_document = FileCompiler.compile_document

    def noted(compiler: FileCompiler, found: SpecFile, document: Document | None, diagnostics: Diagnostics) -> Piece:
        names.append(found.path.name)
        return compile_document(compiler, found, document, diagnostics)

    monkeypatch.setattr(FileCompiler, "compile_document", noted)
    return names


def check(settings: Settings = NO_SETTINGS) -> Checked:
    return check_specs([Path("specs")], settings)


def shown(diagnostics: Diagnostics) -> list[str]:
    report = Report(diagnostics=diagnostics, version="1", folder=".", pages={}, color=False)
    return [render(report, each) for each in FORMATS]


def assert_as_compiled(settings: Settings = NO_SETTINGS) -> None:
    answer, wanted = check(settings), compile_specs([Path("specs")], settings)
    assert answer.count == len(wanted.tools)
    assert answer.diagnostics.sorted() == wanted.diagnostics.sorted()
    assert [each.fix for each in answer.diagnostics.sorted()] == [each.fix for each in wanted.diagnostics.sorted()]
    assert shown(answer.diagnostics) == shown(wanted.diagnostics)


def the_file(folder: Path) -> Path:
    (found,) = (folder.parent / "cache" / "toolc").iterdir()
    return found


def test_where_nothing_changed_nothing_is_compiled_and_every_format_prints_the_same(
    folder: Path, compiled: list[object]
) -> None:
    first = check()
    assert first.diagnostics.sorted()
    assert_as_compiled()
    assert len(compiled) == 1


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("specs/a.yaml", SPEC.format(name="beta")),
        ("specs/a.yaml", "toolc: 1\nname: [\n"),
        ("specs/a.yaml", None),
        ("specs/b.yaml", SPEC.format(name="alpha")),
        ("specs/new.toml", "toolc = 1\n"),
        ("specs/toolc.yaml", "vars: {}\n"),
        ("specs/counter.py", "def counter(words):\n    return len(words)\n"),
        ("specs/counter.py", None),
        ("specs/data/one.txt", None),
        ("specs/data/two.txt", "two\n"),
        ("toolc.yaml", "lint: {ignore: [TC4]}\n"),
        ("toolc.yaml", "exclude: [b.yaml]\n"),
        ("toolc.yaml", None),
        ("toolc.toml", "[vars]\n"),
        ("specs/.git", "gitdir: elsewhere\n"),
    ],
)
def test_whatever_changes_is_noticed(folder: Path, compiled: list[object], path: str, text: str | None) -> None:
    check()
    place = folder / path
    if text is None:
        place.unlink()
    else:
        place.write_text(text, encoding="utf-8")
    assert_as_compiled()
    assert len(compiled) == 2


def test_where_one_file_changed_one_file_is_compiled(folder: Path, files: list[str]) -> None:
    check()
    files.clear()
    (folder / "specs/a.yaml").write_text(SPEC.format(name="beta"), encoding="utf-8")
    check()
    assert set(files) == {"a.yaml"}
    assert_as_compiled()


def test_only_an_edited_file_is_compiled(folder: Path, files: list[str]) -> None:
    check()
    files.clear()
    for text in (
        SPEC.format(name="alpha") + "owner: us\n",
        SPEC.format(name="alpha").replace("[wc, --,", "[wc,"),
        SPEC.format(name="alpha").replace("wc, --,", "wc,  # toolc: ignore[TC403] only our own files\n   "),
        f"# one line down\n{SPEC.format(name='alpha')}",
        SPEC.format(name="gamma"),
        SPEC.format(name="gamma").replace("Count the words", "Say how many lines there are, and bytes,"),
        SPEC.format(name="gamma").replace("name: gamma", "name: gamma\naliases: [delta]"),
        SPEC.format(name="gamma").replace("description: Count", "description: 1\nlabel: Count"),
        SPEC.format(name="alpha"),
    ):
        (folder / "specs/a.yaml").write_text(text, encoding="utf-8")
        check()
        assert files == ["a.yaml"]
        assert_as_compiled()
        files.clear()


def test_an_edit_takes_away_what_was_found_in_another_file(folder: Path) -> None:
    (folder / "specs/counter.py").write_text("def counter(text):\n    return eval(text)\n", encoding="utf-8")
    assert "specs/counter.py" in {each.span.path for each in check().diagnostics.sorted()}
    shell = PYTHON.replace(
        """python: {file: counter.py, files: ["data/*.txt"]}""", """shell: {argv: [wc, --, "{{ text }}"]}"""
    )
    for text in (shell, PYTHON, PYTHON + "owner: us\n"):
        (folder / "specs/counter.yaml").write_text(text, encoding="utf-8")
        assert_as_compiled()


def test_a_file_that_a_tool_takes_along_has_its_spec_compiled(folder: Path, files: list[str]) -> None:
    check()
    files.clear()
    (folder / "specs/counter.py").write_text("def counter(words):\n    return 1\n", encoding="utf-8")
    check()
    assert files == ["counter.yaml"]


def test_another_project_file_has_all_files_compiled(folder: Path, files: list[str]) -> None:
    check()
    files.clear()
    (folder / "toolc.yaml").write_text("vars: {word: two}\n", encoding="utf-8")
    check()
    assert files == ["a.yaml", "b.yaml", "counter.yaml"]


CALLER = """\
toolc: 1
name: caller
description: Count the words of one file and then those of another one.
parameters: {}
backend:
  composite:
    strategy: sequential
    steps: [{id: one, tool: alpha, args: {path: README.md}}, {id: two, tool: beta, args: {file: x}}]
"""

OTHER = """\
toolc = 1
[defaults]
owner = "us"
[[tools]]
name = "alpha2"
description = "Count the words of the file number alpha and say how many there are. # toolc: ignore[TC209] twins"
aliases = ["bet"]
backend = {shell = {argv = ["ls"]}}
[[tools]]
name = "beta_"
description = "no"  # toolc: ignore[TC204] it is short
backend = {shell = {argv = ["{{ vars.word }}"]}}
"""


def test_what_calls_other_tools_is_compared_with_them(folder: Path, files: list[str]) -> None:
    (folder / "specs/caller.yaml").write_text(CALLER, encoding="utf-8")
    check()
    files.clear()
    (folder / "specs/counter.yaml").write_text(PYTHON + "owner: us\n", encoding="utf-8")
    assert [each.code.number for each in check().diagnostics.sorted() if "step" in each.message]
    assert set(files) == {"a.yaml", "b.yaml", "caller.yaml", "counter.yaml"}
    assert_as_compiled()
    files.clear()
    (folder / "specs/b.yaml").write_text(SPEC.format(name="beta") + "owner: us\n", encoding="utf-8")
    assert [each.code.number for each in check().diagnostics.sorted() if "step" in each.message]
    assert set(files) == {"a.yaml", "b.yaml", "caller.yaml"}
    assert_as_compiled()


def test_tools_that_are_too_much_alike_are_found_across_what_is_kept(folder: Path) -> None:
    check()
    for name in ("alpha", "Alpha", "alpha_words", "beta"):
        text = SPEC.format(name="alpha").replace("name: alpha", f"name: {name}\naliases: [counter, other_{name}]")
        (folder / "specs/a.yaml").write_text(text, encoding="utf-8")
        check()
        assert_as_compiled()


def test_tools_are_compared_again_only_where_an_outline_changed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "specs/b.yaml").write_text(SPEC.format(name="alpha_"), encoding="utf-8")
    runs: list[int] = []

    def noted(tools: Sequence[LocatedTool]) -> Iterable[Diagnostic]:
        runs.append(len(tools))
        return check_together(tools)

    check()
    monkeypatch.setattr("toolc.compiler.cache.pieces.check_together", noted)
    (folder / "specs/a.yaml").write_text(SPEC.format(name="alpha") + "owner: us\n", encoding="utf-8")
    assert [each.code.number for each in check().diagnostics.sorted() if "alpha_" in each.message]
    assert runs == []
    assert_as_compiled()
    (folder / "specs/a.yaml").write_text(SPEC.format(name="beta"), encoding="utf-8")
    assert_as_compiled()
    assert runs == [3]


def test_other_settings_and_another_toolc_have_answers_of_their_own(
    folder: Path, compiled: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    check()
    assert_as_compiled(Settings(ignore=("TC4",)))
    installed = folder.parent / "installed"
    (installed / "PyYAML-6.0.99.dist-info").mkdir(parents=True)
    monkeypatch.syspath_prepend(str(installed))
    check()
    assert len(compiled) == 3


@pytest.mark.slow
def test_files_mutated_at_random_give_what_an_uncached_run_gives(folder: Path) -> None:
    chance, settings = random.Random(3), Settings(select=("TC",))
    (folder / "specs/caller.yaml").write_text(CALLER, encoding="utf-8")
    (folder / "specs/other.toml").write_text(OTHER, encoding="utf-8")
    good = {path: path.read_text(encoding="utf-8") for path in sorted(folder.rglob("*.*")) if path.is_file()}
    for _ in range(80):
        path, text = chance.choice([*good.items()])
        at = chance.randrange(len(text))
        inserted = chance.choice(["", "x", ":", "\n", '"', "{{", "\t", "\xe9", text[:at]])
        path.write_text(
            chance.choice([text, text[:at] + inserted + text[at + chance.randrange(3) :]]), encoding="utf-8"
        )
        check(settings)
        assert_as_compiled(settings)


def _flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def _flip_answer(path: Path) -> None:
    data = path.read_bytes()
    at = data.index(b"\n") + 20
    path.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])


def _other_body(path: Path) -> None:
    file.save(path, {"specs": 1}, ["[1, 1]", "[1]", "{"])


def _put_fifo(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


@pytest.mark.parametrize(
    "spoil",
    [
        _flip_answer,
        _other_body,
        lambda path: path.write_bytes(b""),
        lambda path: path.write_bytes(os.urandom(100)),
        lambda path: path.write_bytes(path.read_bytes()[:200]),
        lambda path: path.write_text("[" * 100_000),
        lambda path: path.chmod(0o666),
        lambda path: (path.unlink(), path.mkdir()),
        _put_fifo,
        lambda path: (path.rename(path.with_suffix(".old")), path.symlink_to(path.with_suffix(".old"))),
    ],
)
def test_a_spoilt_cache_is_no_answer(folder: Path, compiled: list[object], spoil: Callable[[Path], object]) -> None:
    check()
    spoil(the_file(folder))
    assert_as_compiled()
    assert len(compiled) == 2


@pytest.mark.parametrize("spoil", [_flip, lambda path: path.write_bytes(path.read_bytes()[:-20])])
def test_where_what_is_known_of_files_is_spoilt_all_are_compiled(
    folder: Path, files: list[str], spoil: Callable[[Path], object]
) -> None:
    check()
    files.clear()
    (folder / "specs/a.yaml").write_text(SPEC.format(name="gamma"), encoding="utf-8")
    spoil(the_file(folder))
    check()
    assert files == ["a.yaml", "b.yaml", "counter.yaml"]
    assert_as_compiled()


def test_a_cache_that_somebody_else_owns_is_no_answer(
    folder: Path, compiled: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    check()
    monkeypatch.setattr(os, "geteuid", lambda: 4711)
    check()
    assert len(compiled) == 2


@pytest.mark.parametrize("place", ["/proc/nowhere", "/dev/null", "relative"])
def test_a_cache_that_cannot_be_written_is_none(folder: Path, monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", place)
    monkeypatch.setenv("HOME", "/proc/nowhere")
    check()
    assert_as_compiled()
    assert not Path("relative").exists()


def test_what_changed_while_it_was_compiled_is_not_remembered(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def changing(paths: list[Path], settings: Settings, gather: Gather, together: Together) -> Compilation:
        compilation = compile_specs(paths, settings, gather, together)
        (folder / "specs/a.yaml").write_text("toolc: 1\n", encoding="utf-8")
        return compilation

    with monkeypatch.context() as patch:
        patch.setattr("toolc.compiler.pipeline.compile.compile_specs", changing)
        check()
    assert_as_compiled()


def test_the_file_is_its_owners_alone_and_what_is_long_unused_goes(folder: Path) -> None:
    old = folder.parent / "cache/toolc/check-old.json"
    old.parent.mkdir(parents=True)
    old.touch()
    os.utime(old, (0, 0))
    check()
    assert the_file(folder).stat().st_mode & 0o777 == 0o600


@pytest.mark.slow
def test_runs_at_the_same_time_do_not_disturb_each_other(folder: Path) -> None:
    command = [sys.executable, "-m", "toolc", "check", "specs", "--format", "json"]
    runs = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(4)]
    said = {run.communicate()[0] for run in runs}
    assert len(said) == 1
    assert {run.returncode for run in runs} == {0}


def test_a_tool_of_a_toolset_that_is_not_compiled_is_looked_at_again(folder: Path) -> None:
    (folder / "toolc.yaml").write_text("toolsets: {all: [alpha, other]}\n", encoding="utf-8")
    other = folder / "elsewhere/other.yaml"
    other.parent.mkdir()
    for text in (SPEC.format(name="other"), SPEC.format(name="renamed"), SPEC.format(name="other"), None):
        if text is None:
            other.unlink()
        else:
            other.write_text(text, encoding="utf-8")
        for _ in range(2):
            assert_as_compiled()


def test_a_toolset_with_tools_that_are_not_compiled_is_no_reason_to_compile_anew(
    folder: Path, compiled: list[object]
) -> None:
    (folder / "toolc.yaml").write_text("toolsets: {all: [alpha, other]}\n", encoding="utf-8")
    (folder / "elsewhere").mkdir()
    (folder / "elsewhere/other.yaml").write_text(SPEC.format(name="other"), encoding="utf-8")
    for _ in range(2):
        check()
    assert len(compiled) == 1


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("name: read_the_files", "owner: us\nname: read_the_files"),
        ('name: &a "read_the_files"', "name: &abc read_the_files"),
    ],
)
def test_a_finding_tells_where_a_tool_of_a_similar_name_is_now(folder: Path, before: str, after: str) -> None:
    """Also where an edit leaves the name as it is, and all that libyaml says of its place."""
    named = SPEC.format(name="read_the_files").replace("name: read_the_files", before, 1)
    other = SPEC.format(name="read_the_filess").replace("Count the words of", "Tell who wrote a line of it, or all of")
    (folder / "specs/a.yaml").write_text(named, encoding="utf-8")
    (folder / "specs/b.yaml").write_text(other, encoding="utf-8")
    assert SIMILAR_NAME in {each.code for each in check().diagnostics.sorted()}
    (folder / "specs/a.yaml").write_text(named.replace(before, after), encoding="utf-8")
    assert_as_compiled()
