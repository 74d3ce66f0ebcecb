"""A build with a cache writes the same bytes as one without, and nothing if nothing changed."""

import contextlib
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from cache_cases import file_edits, write
from cli.command_line import run
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from toolc.client.build import write_build
from toolc.compiler import build_output
from toolc.compiler.build_output import Built, RenderedTool
from toolc.compiler.pipeline.compile import compile_specs
from toolc.model.errors import SpecError, UsageError
from toolc.providers.provider_limits import limits_of

SPEC = """\
toolc: 1
name: alpha
description: Count the words of one file of the workspace and say how many there are.
parameters: {path: {type: string, description: The file to read}}
backend: {shell: {argv: [wc, "{{ path }}"]}}
"""
BUILT = "built 1 tool for 9 providers into build\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with one tool, a finding and a build."""
    project = tmp_path / "project"
    (project / "specs").mkdir(parents=True)
    (project / ".git").mkdir()
    (project / "specs/a.yaml").write_text(SPEC, encoding="utf-8")
    (project / "toolc.yaml").write_text("vars: {}\n", encoding="utf-8")
    monkeypatch.chdir(project)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert build() == 0
    return project


def build(*options: str) -> object:
    """Build the specs and return the exit code."""
    return run("build", "specs", *options)


@pytest.fixture
def writes(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The output folders of the builds that are written."""
    written: list[str] = []
    write_output = build_output.write_output

    def record(
        tools: Sequence[RenderedTool], names: Sequence[str], toolsets: Mapping[str, Sequence[str]], out: str | Path
    ) -> Built:
        written.append(str(out))
        return write_output(tools, names, toolsets, out)

    monkeypatch.setattr(build_output, "write_output", record)
    return written


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_unchanged_build_writes_nothing(folder: Path, writes: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    shutil.rmtree(folder.parent / "cache")
    assert build() == 0
    first = capsys.readouterr()
    assert build() == 0
    assert capsys.readouterr() == first
    assert first.out == BUILT
    assert writes == ["build"]


def _new_spec() -> None:
    write("specs/b.yaml", SPEC.replace("alpha", "beta"))


@pytest.mark.parametrize(
    "change",
    [
        lambda: Path("specs/a.yaml").write_text(SPEC + "owner: us\n"), _new_spec,
        lambda: Path("build/registry.json").write_text("{}"), lambda: Path("build/registry.json").unlink(),
        lambda: Path("build/providers/mcp.json").chmod(0o600), lambda: Path("build/providers/mcp.json").touch(),
        lambda: Path("build/loss.json").rename("build/lost.json"), lambda: shutil.rmtree("build/providers"),
        lambda: shutil.rmtree("build"), lambda: (Path("build").rename("old"), shutil.copytree("old", "build")),
    ],
)  # fmt: skip
def test_any_change_causes_a_new_build(folder: Path, writes: list[str], change: Callable[[], object]) -> None:
    change()
    ours = not Path("build/lost.json").exists()
    assert build() == (0 if ours else 2)
    assert writes == ["build"]
    assert build("--out", "fresh") == 0
    assert not ours or files(folder / "build") == files(folder / "fresh")


def test_foreign_file_in_the_folder_is_detected(folder: Path, writes: list[str]) -> None:
    Path("build/mine.txt").write_text("mine\n", encoding="utf-8")
    assert build() == 2
    assert writes == ["build"]


def test_strict_is_not_cached_with_other_options(folder: Path, writes: list[str]) -> None:
    assert build("--strict") == 1
    assert writes == []


def test_each_folder_and_selection_has_a_separate_build(folder: Path, writes: list[str]) -> None:
    for _ in range(2):
        assert build("--out", "other") == 0
        assert build("--ignore", "TC403") == 0
    assert writes == ["other", "build"]
    assert files(folder / "other") == files(folder / "build")


def test_edit_without_effect_on_the_build_changes_no_file(folder: Path) -> None:
    before = [path.stat() for path in [Path("build"), *sorted(Path("build").rglob("*"))]]
    for path, text in (("specs/a.yaml", f"{SPEC}# a comment\n"), ("toolc.yaml", "vars: {a: b}\n")):
        write(path, text)
        assert build() == 0
    after = [path.stat() for path in [Path("build"), *sorted(Path("build").rglob("*"))]]
    assert [(each.st_ino, each.st_mtime_ns) for each in after] == [(each.st_ino, each.st_mtime_ns) for each in before]


def test_damaged_cache_is_ignored(folder: Path, writes: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    (cache_file,) = (folder.parent / "cache/toolc").iterdir()
    cache_file.write_bytes(cache_file.read_bytes()[:200])
    capsys.readouterr()
    assert build() == 0
    assert capsys.readouterr().out == BUILT
    assert writes == ["build"]


def test_unwritable_cache_is_ignored(folder: Path, writes: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/dev/null")
    assert [build(), build()] == [0, 0]
    assert writes == ["build", "build"]


STRICT = "providers: {anthropic: {strict: true}}\n"
STRICT_FOR_COHERE = "providers: {cohere: {strict: true}}\n"
SPECS = {
    "specs/alpha.yaml": SPEC,
    "specs/beta.yaml": SPEC.replace("alpha", "beta").replace("[wc,", "[wc, --,") + STRICT,
    "specs/two.yaml": """\
toolc: 1
tools:
  - name: gamma
    label: Gamma
    description: Say hello to everyone, in the language that the caller prefers.
    backend: {shell: {argv: [echo, "{{ vars.word }}"]}}
  - name: aaa
    description: Return the date at the place that the caller names, in ISO 8601.
    parameters: {type: object, properties: {n: {type: integer, multipleOf: 2}}, oneOf: [{required: [n]}, {}]}
    backend: {shell: {argv: [date]}}
""",
    "specs/delta.yaml": """\
toolc: 1
name: delta
description: Return the length of a text in characters, as Python counts them.
backend: {python: {file: delta.py}}
""",
    "specs/delta.py": "def delta():\n    return 1\n",
    "toolc.yaml": "vars: {word: one}\ntoolsets: {some: [delta]}\n",
}
OTHERS = {
    "specs/caller.yaml": """\
toolc: 1
name: caller
description: Count the words of one file after another, and say hello once that is done.
backend:
  composite: {strategy: sequential, steps: [{id: one, tool: gamma, args: {}}]}
""",
    "specs/zeta.yaml": SPEC.replace("alpha", "zeta") + STRICT,
}
EDITS = (
    ("[wc,", "[wc, --,"),
    ("toolc: 1\n", "toolc: 1\nowner: us\n"),
    ("name: alpha", "name: omega"),
    ("name: alpha", "name: beta"),
    ("name: gamma", "name: gamma\n    aliases: [old]"),
    ("    label: Gamma\n", ""),
    ("multipleOf", "minimum"),
    ("oneOf: [{required: [n]}, {}]", "maxProperties: 3"),
    ("Count the words", "Count all words"),
    ("return 1", "return 2"),
    ("word: one", "word: two"),
    ("vars", "out: elsewhere\nvars"),
    ("[delta]", "[gamma, delta]"),
    ("toolsets: {some: [delta]}", "toolsets: {none: []}"),
    ("backend:", "backend"),
    (STRICT, ""),
    ("argv: [date]}}", "argv: [date]}}\n    providers: {anthropic: {strict: true}, openai_chat: {strict: true}}"),
)
"""Pairs of a text in a file and its replacement."""


def build_with_cache() -> tuple[object, dict[str, bytes]]:
    """Return the exit code of a build with the cache, and its files."""
    return build("--out", "kept"), files(Path("kept"))


def build_without_cache() -> tuple[object, dict[str, bytes]]:
    """Return the same of a build without a cache."""
    try:
        write_build(compile_specs([Path("specs")]), "cold")
    except (SpecError, UsageError) as error:
        return (1 if isinstance(error, SpecError) else 2), files(Path("cold"))
    return 0, files(Path("cold"))


@pytest.mark.slow
@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(st.lists(file_edits(SPECS | OTHERS, EDITS), min_size=1, max_size=6))
@example([("specs/alpha.yaml", SPEC + STRICT), ("specs/alpha.yaml", SPEC)])
@example([("specs/alpha.yaml", SPEC + STRICT_FOR_COHERE)])
def test_any_edits_give_the_same_build(monkeypatch: pytest.MonkeyPatch, edits: list[tuple[str, str | None]]) -> None:
    known = limits_of("anthropic")
    monkeypatch.setitem(known, "strict_tools", replace(known["strict_tools"], value=1))
    with TemporaryDirectory() as folder, contextlib.chdir(folder):
        monkeypatch.setenv("XDG_CACHE_HOME", f"{folder}/cache")
        Path(".git").mkdir()
        for path, text in SPECS.items():
            write(path, text)
        assert build_with_cache() == build_without_cache()
        for path, changed in edits:
            write(path, changed)
            assert build_with_cache() == build_without_cache()
