"""Cached results equal the results of the compiler, whatever changed and whatever the cache file contains."""

import os
import random
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from pathlib import Path

import pytest
from cache_cases import CALLER_WITHOUT_STEPS, assert_same_as_without_cache, write

from toolc.compiler.cache import file
from toolc.compiler.cache.check_cache import Checked, check_specs
from toolc.compiler.checks import check_all_tools
from toolc.compiler.located_tool import LocatedTool
from toolc.compiler.pipeline.compile import Compilation, Gather, Together, compile_specs
from toolc.compiler.project.settings import NO_SETTINGS, Settings
from toolc.model.codes import SIMILAR_NAME
from toolc.model.diagnostics import Diagnostic

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
    """A project with three tools and an empty cache."""
    project = tmp_path / "project"
    for path, text in {
        "toolc.yaml": "vars: {word: one}\n",
        "specs/a.yaml": SPEC.format(name="alpha"),
        "specs/b.yaml": SPEC.format(name="beta").replace("[wc, --,", "[wc,"),
        "specs/counter.yaml": PYTHON,
        "specs/counter.py": "def counter(text):\n    return len(text)\n",
        "specs/data/one.txt": "one\n",
    }.items():
        write(project / path, text)
    (project / ".git").mkdir()
    monkeypatch.chdir(project)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return project


@pytest.fixture(scope="module", autouse=True)
def _users_of_compile_specs() -> None:
    """Import modules that a check imports later, because they would keep the function that a test replaces."""
    for name in ("changed_tools", "parallel"):
        import_module(f"toolc.compiler.cache.{name}")


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """The paths of each compilation."""
    runs: list[object] = []

    def record(paths: list[Path], settings: Settings, gather: Gather, together: Together) -> Compilation:
        runs.append(paths)
        return compile_specs(paths, settings, gather, together)

    monkeypatch.setattr("toolc.compiler.pipeline.compile.compile_specs", record)
    return runs


def check(settings: Settings = NO_SETTINGS) -> Checked:
    return check_specs([Path("specs")], settings)


def cache_file(folder: Path) -> Path:
    (found,) = (folder.parent / "cache" / "toolc").iterdir()
    return found


def test_unchanged_files_are_not_compiled(folder: Path, compiled: list[object]) -> None:
    first = check()
    assert first.diagnostics.sorted()
    assert_same_as_without_cache()
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
def test_any_change_is_detected(folder: Path, compiled: list[object], path: str, text: str | None) -> None:
    check()
    write(path, text)
    assert_same_as_without_cache()
    assert len(compiled) == 2


def test_only_the_edited_file_is_compiled(folder: Path, compiled_files: list[str]) -> None:
    check()
    compiled_files.clear()
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
        write("specs/a.yaml", text)
        check()
        assert compiled_files == ["specs/a.yaml"]
        assert_same_as_without_cache()
        compiled_files.clear()


def test_edit_removes_findings_in_another_file(folder: Path) -> None:
    write("specs/counter.py", "def counter(text):\n    return eval(text)\n")
    assert "specs/counter.py" in {each.span.path for each in check().diagnostics.sorted()}
    shell = PYTHON.replace(
        """python: {file: counter.py, files: ["data/*.txt"]}""", """shell: {argv: [wc, --, "{{ text }}"]}"""
    )
    for text in (shell, PYTHON, PYTHON + "owner: us\n"):
        write("specs/counter.yaml", text)
        assert_same_as_without_cache()


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        ("specs/counter.py", "def counter(words):\n    return 1\n", ["specs/counter.yaml"]),
        ("toolc.yaml", "vars: {word: two}\n", ["specs/a.yaml", "specs/b.yaml", "specs/counter.yaml"]),
    ],
    ids=["a file of a tool", "the project file"],
)
def test_specs_that_depend_on_a_changed_file_are_compiled(
    folder: Path, compiled_files: list[str], path: str, text: str, expected: list[str]
) -> None:
    check()
    compiled_files.clear()
    write(path, text)
    check()
    assert compiled_files == expected


CALLER = f"""\
{CALLER_WITHOUT_STEPS}\
    steps: [{{id: one, tool: alpha, args: {{path: README.md}}}}, {{id: two, tool: beta, args: {{file: x}}}}]
"""

OTHER = """\
toolc = 1
[defaults]
owner = "us"
[[tools]]
name = "alpha2"
description = "Count the words of the file number alpha and say how many there are. # toolc: ignore[TC203] twins"
aliases = ["bet"]
backend = {shell = {argv = ["ls"]}}
[[tools]]
name = "beta_"
description = "no"  # toolc: ignore[TC204] it is short
backend = {shell = {argv = ["{{ vars.word }}"]}}
"""


def test_callers_are_compiled_with_called_tools(folder: Path, compiled_files: list[str]) -> None:
    write("specs/caller.yaml", CALLER)
    check()
    compiled_files.clear()
    write("specs/counter.yaml", PYTHON + "owner: us\n")
    assert [each.code.number for each in check().diagnostics.sorted() if "step" in each.message]
    assert set(compiled_files) == {"specs/a.yaml", "specs/b.yaml", "specs/caller.yaml", "specs/counter.yaml"}
    assert_same_as_without_cache()
    compiled_files.clear()
    write("specs/b.yaml", SPEC.format(name="beta") + "owner: us\n")
    assert [each.code.number for each in check().diagnostics.sorted() if "step" in each.message]
    assert set(compiled_files) == {"specs/a.yaml", "specs/b.yaml", "specs/caller.yaml"}
    assert_same_as_without_cache()


def test_similar_tools_are_found_in_restored_files(folder: Path) -> None:
    check()
    for name in ("alpha", "Alpha", "alpha_words", "beta"):
        text = SPEC.format(name="alpha").replace("name: alpha", f"name: {name}\naliases: [counter, other_{name}]")
        write("specs/a.yaml", text)
        check()
        assert_same_as_without_cache()


def test_tools_are_compared_only_if_an_outline_changed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write("specs/b.yaml", SPEC.format(name="alpha_"))
    runs: list[int] = []

    def record(tools: Sequence[LocatedTool]) -> Iterable[Diagnostic]:
        runs.append(len(tools))
        return check_all_tools(tools)

    check()
    monkeypatch.setattr("toolc.compiler.cache.file_results.check_all_tools", record)
    write("specs/a.yaml", SPEC.format(name="alpha") + "owner: us\n")
    assert [each.code.number for each in check().diagnostics.sorted() if "alpha_" in each.message]
    assert runs == []
    assert_same_as_without_cache()
    write("specs/a.yaml", SPEC.format(name="beta"))
    assert_same_as_without_cache()
    assert runs == [3]


def test_other_settings_and_versions_have_separate_results(
    folder: Path, compiled: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    check()
    assert_same_as_without_cache(Settings(ignore=("TC4",)))
    installed = folder.parent / "installed"
    (installed / "PyYAML-6.0.99.dist-info").mkdir(parents=True)
    monkeypatch.syspath_prepend(str(installed))
    check()
    assert len(compiled) == 3


@pytest.mark.slow
def test_random_mutations(folder: Path) -> None:
    chance, settings = random.Random(3), Settings(select=("TC",))
    write("specs/caller.yaml", CALLER)
    write("specs/other.toml", OTHER)
    good = {path: path.read_text(encoding="utf-8") for path in sorted(folder.rglob("*.*")) if path.is_file()}
    for _ in range(80):
        path, text = chance.choice([*good.items()])
        at = chance.randrange(len(text))
        inserted = chance.choice(["", "x", ":", "\n", '"', "{{", "\t", "\xe9", text[:at]])
        path.write_text(
            chance.choice([text, text[:at] + inserted + text[at + chance.randrange(3) :]]), encoding="utf-8"
        )
        check(settings)
        assert_same_as_without_cache(settings)


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
    "damage",
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
def test_damaged_cache_is_ignored(folder: Path, compiled: list[object], damage: Callable[[Path], object]) -> None:
    check()
    damage(cache_file(folder))
    assert_same_as_without_cache()
    assert len(compiled) == 2


@pytest.mark.parametrize("damage", [_flip, lambda path: path.write_bytes(path.read_bytes()[:-20])])
def test_damaged_details_compile_all_files(
    folder: Path, compiled_files: list[str], damage: Callable[[Path], object]
) -> None:
    check()
    compiled_files.clear()
    write("specs/a.yaml", SPEC.format(name="gamma"))
    damage(cache_file(folder))
    check()
    assert compiled_files == ["specs/a.yaml", "specs/b.yaml", "specs/counter.yaml"]
    assert_same_as_without_cache()


def test_cache_of_another_user_is_ignored(
    folder: Path, compiled: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    check()
    monkeypatch.setattr(os, "geteuid", lambda: 4711)
    check()
    assert len(compiled) == 2


@pytest.mark.parametrize("place", ["/proc/nowhere", "/dev/null", "relative"])
def test_unwritable_cache_is_ignored(folder: Path, monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", place)
    monkeypatch.setenv("HOME", "/proc/nowhere")
    check()
    assert_same_as_without_cache()
    assert not Path("relative").exists()


def test_change_during_compilation_is_not_cached(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def changing(paths: list[Path], settings: Settings, gather: Gather, together: Together) -> Compilation:
        compilation = compile_specs(paths, settings, gather, together)
        write("specs/a.yaml", "toolc: 1\n")
        return compilation

    with monkeypatch.context() as patch:
        patch.setattr("toolc.compiler.pipeline.compile.compile_specs", changing)
        check()
    assert_same_as_without_cache()


def test_cache_file_is_private_and_old_ones_are_removed(folder: Path) -> None:
    old = folder.parent / "cache/toolc/check-old.json"
    old.parent.mkdir(parents=True)
    old.touch()
    os.utime(old, (0, 0))
    check()
    assert cache_file(folder).stat().st_mode & 0o777 == 0o600


@pytest.mark.slow
def test_concurrent_runs(folder: Path) -> None:
    command = [sys.executable, "-m", "toolc", "check", "specs", "--format", "json"]
    runs = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(4)]
    outputs = {run.communicate()[0] for run in runs}
    assert len(outputs) == 1
    assert {run.returncode for run in runs} == {0}


def test_changed_toolset_member_outside_the_paths_is_detected(folder: Path) -> None:
    write("toolc.yaml", "toolsets: {all: [alpha, other]}\n")
    for text in (SPEC.format(name="other"), SPEC.format(name="renamed"), SPEC.format(name="other"), None):
        write("elsewhere/other.yaml", text)
        for _ in range(2):
            assert_same_as_without_cache()


def test_unchanged_toolset_member_outside_the_paths(folder: Path, compiled: list[object]) -> None:
    write("toolc.yaml", "toolsets: {all: [alpha, other]}\n")
    write("elsewhere/other.yaml", SPEC.format(name="other"))
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
def test_finding_has_the_current_position_of_a_similar_name(folder: Path, before: str, after: str) -> None:
    named = SPEC.format(name="read_the_files").replace("name: read_the_files", before, 1)
    other = SPEC.format(name="read_the_filess").replace("Count the words of", "Tell who wrote a line of it, or all of")
    write("specs/a.yaml", named)
    write("specs/b.yaml", other)
    assert SIMILAR_NAME in {each.code for each in check().diagnostics.sorted()}
    write("specs/a.yaml", named.replace(before, after))
    assert_same_as_without_cache()


def test_without_a_cache_folder_there_is_nothing_to_load() -> None:
    assert file.load(None) == file.CachedFile()
