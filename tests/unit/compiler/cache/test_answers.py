"""Stored answers equal those of the compiler, whatever changed and whatever the cache file contains."""

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from cache_cases import assert_same_as_without_cache, write

import toolc
from toolc.compiler.cache.answers import Answer, check_specs
from toolc.compiler.pipeline import processes
from toolc.compiler.pipeline.compile import Compilation, compile_specs
from toolc.compiler.project.files import digest_of_bytes
from toolc.compiler.project.settings import NO_SETTINGS, Settings
from toolc.model.codes import CREDENTIAL

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


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """The paths of each compilation for a check."""
    runs: list[object] = []

    def record(paths: Sequence[Path], *options: Any) -> Compilation:
        runs.append(paths)
        return compile_specs(paths, *options)

    monkeypatch.setattr(processes, "compile_specs", record)
    return runs


def check(settings: Settings = NO_SETTINGS) -> Answer:
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
    before = Path(path).read_text(encoding="utf-8") if Path(path).exists() else None
    for each in (text, before, text):
        write(path, each)
        assert_same_as_without_cache()
    assert len(compiled) == 4


def test_an_edit_that_keeps_size_and_times_is_detected(folder: Path) -> None:
    write("specs/counter.py", "def counter(text):\n    return len(text)\n")
    check()
    status = Path("specs/counter.py").stat()
    write("specs/counter.py", "def counter(text):\n    return abs(text)\n")
    os.utime("specs/counter.py", ns=(status.st_atime_ns, status.st_mtime_ns))
    assert_same_as_without_cache()


def _link_code() -> None:
    Path("specs/counter.py").rename("specs/linked.py")
    Path("specs/counter.py").symlink_to("../specs/linked.py")
    write("specs/linked.py", "def counter(words):\n    return 1\n")


def _link_project_file() -> None:
    write("elsewhere.yaml", "vars: {word: two}\n")
    Path("toolc.yaml").unlink()
    Path("toolc.yaml").symlink_to("elsewhere.yaml")


@pytest.mark.parametrize(
    "change",
    [
        _link_project_file,
        lambda: Path("specs").chmod(0o1777),  # project files in a folder that all may write to have no effect
        lambda: Path("specs/counter.py").chmod(0o000),
        _link_code,
        lambda: Path("specs/a.yaml").rename("specs/.a.yaml"),
        lambda: Path("specs/a.yaml").rename("specs/a.txt"),
        lambda: Path("specs/data").rename("specs/.data"),
        lambda: Path(".git").rmdir(),
    ],
)
def test_changes_of_names_links_and_modes_are_detected(folder: Path, change: Callable[[], object]) -> None:
    write("specs/toolc.yaml", "vars: {a: b}\n")
    check()
    change()
    assert_same_as_without_cache()


def test_a_linked_folder_that_becomes_a_copy_is_detected(folder: Path) -> None:
    Path("more").symlink_to("only")
    write("only/a.yaml", SPEC.format(name="alpha"))
    paths = [Path("only"), Path("more")]
    assert not check_specs(paths, NO_SETTINGS).diagnostics.has_errors
    Path("more").unlink()
    write("more/a.yaml", SPEC.format(name="alpha"))
    assert check_specs(paths, NO_SETTINGS).diagnostics.has_errors  # two tools have the name alpha now


def test_other_settings_and_versions_have_separate_results(
    folder: Path, compiled: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    check()
    assert_same_as_without_cache(Settings(ignore=("TC4",)))
    assert len(compiled) == 2
    installed = folder.parent / "installed"
    (installed / "PyYAML-6.0.99.dist-info").mkdir(parents=True)
    monkeypatch.syspath_prepend(str(installed))
    check()
    assert len(compiled) == 3


def test_an_edit_of_toolc_in_a_checkout_is_detected(
    folder: Path, compiled: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    check()  # imports every module that a check needs
    checkout = folder.parent / "checkout"
    write(checkout / "pyproject.toml", "")
    monkeypatch.setattr(toolc, "__path__", [str(checkout / "toolc")])
    for text in ("", "x = 1\n"):
        write(checkout / "toolc" / "module.py", text)
        check()
    assert len(compiled) == 3


def _flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def _store(text: str) -> Callable[[Path], object]:
    return lambda path: path.write_text(f"{digest_of_bytes(text.encode())}\n{text}", encoding="utf-8")


def _put_fifo(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


@pytest.mark.parametrize(
    "damage",
    [
        _flip,
        *map(_store, ["", "{", "[]", "null", '{"specs": 1}']),
        lambda path: path.write_bytes(b""),
        lambda path: path.write_bytes(os.urandom(100)),
        lambda path: path.write_bytes(path.read_bytes()[:-20]),
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


@pytest.mark.parametrize("path", ["specs/a.yaml", "specs/new.yaml", "toolc.yaml", "specs/counter.py"])
def test_a_change_during_the_compilation_is_not_hidden(
    folder: Path, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    def changing(paths: Sequence[Path], *options: Any) -> Compilation:
        compilation = compile_specs(paths, *options)
        write(path, "vars: {}\n")
        return compilation

    with monkeypatch.context() as patch:
        patch.setattr(processes, "compile_specs", changing)
        check()
    assert_same_as_without_cache()


def test_a_file_that_appears_before_the_compilation_is_not_hidden(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def changing(paths: Sequence[Path], *options: Any) -> Compilation:
        write("specs/new.yaml", SPEC.format(name="alpha"))
        compilation = compile_specs(paths, *options)
        write("specs/new.yaml", None)
        return compilation

    with monkeypatch.context() as patch:
        patch.setattr(processes, "compile_specs", changing)
        assert check().diagnostics.has_errors
    assert_same_as_without_cache()


def test_an_answer_about_a_literal_credential_is_not_stored(folder: Path, compiled: list[object]) -> None:
    write("specs/a.yaml", SPEC.format(name="alpha").replace("[wc, --,", "[curl, -u, 'bob:Hunter2Hunter2', --,"))
    for _ in range(2):
        assert CREDENTIAL.number in {each.code.number for each in check().diagnostics.sorted()}
    assert len(compiled) == 2
    assert not (folder.parent / "cache").exists()


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
