"""A cached answer is the compiler's own, whatever changed and whatever the cache file holds."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from toolc.compiler import cache
from toolc.compiler.cache import Checked, check_specs
from toolc.compiler.compile import compile_specs
from toolc.compiler.settings import NO_SETTINGS, Settings
from toolc.diagnostics import Diagnostics
from toolc.reporters.base import Report
from toolc.reporters.table import FORMATS, render

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
    monkeypatch.setattr(cache, "_RACY_NS", -(10**18))
    return project


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Grows with each compilation."""
    runs: list[object] = []

    def counted(paths: object, settings: object) -> object:
        runs.append(paths)
        return compile_specs(paths, settings)  # type: ignore[arg-type]

    monkeypatch.setattr("toolc.compiler.compile.compile_specs", counted)
    return runs


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
        ("specs/a.yaml", SPEC.format(name="gamma")),
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


def test_other_settings_and_another_toolc_have_answers_of_their_own(
    folder: Path, compiled: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    check()
    assert_as_compiled(Settings(ignore=("TC4",)))
    monkeypatch.setattr("importlib.metadata.version", lambda _name: "0.0.0")
    check()
    assert len(compiled) == 3


def test_files_mutated_at_random_give_what_an_uncached_run_gives(folder: Path) -> None:
    chance = random.Random(3)
    good = (folder / "specs/a.yaml").read_text(encoding="utf-8")
    for _ in range(40):
        at = chance.randrange(len(good))
        text = good[:at] + chance.choice(["", "x", ":", "\n", '"', "{{", "\t"]) + good[at + chance.randrange(3) :]
        (folder / "specs/a.yaml").write_text(chance.choice([good, text]), encoding="utf-8")
        check()
        assert_as_compiled()


def _flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def _other_body(path: Path) -> None:
    body = json.dumps({"specs": 1})
    path.write_text(f"{cache._digest(body)}\n{body}")


def _put_fifo(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


@pytest.mark.parametrize(
    "spoil",
    [
        _flip,
        _other_body,
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
def test_a_spoilt_cache_is_no_answer(folder: Path, compiled: list[object], spoil: Callable[[Path], object]) -> None:
    check()
    spoil(the_file(folder))
    assert_as_compiled()
    assert len(compiled) == 2


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


def test_what_changed_while_it_was_compiled_is_not_remembered(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def changing(paths: list[Path], settings: Settings) -> object:
        (folder / "specs/a.yaml").write_text("toolc: 1\n", encoding="utf-8")
        return compile_specs(paths, settings)

    monkeypatch.setattr("toolc.compiler.compile.compile_specs", changing)
    check()
    assert not (folder.parent / "cache").exists()


def test_the_file_is_its_owners_alone_and_what_is_long_unused_goes(folder: Path) -> None:
    old = folder.parent / "cache/toolc/check-old.json"
    old.parent.mkdir(parents=True)
    old.touch()
    os.utime(old, (0, 0))
    check()
    assert the_file(folder).stat().st_mode & 0o777 == 0o600


def test_runs_at_the_same_time_do_not_disturb_each_other(folder: Path) -> None:
    command = [sys.executable, "-m", "toolc", "check", "specs", "--format", "json"]
    runs = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(4)]
    said = {run.communicate()[0] for run in runs}
    assert len(said) == 1
    assert {run.returncode for run in runs} == {0}
