"""Several processes have the same results as one process."""

import os
import shutil
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from cache_cases import CALLER_WITHOUT_STEPS, reports
from paths import ROOT, TEST_SPECS

from toolc.client.build import write_build
from toolc.compiler.build_output import join
from toolc.compiler.cache import parallel
from toolc.compiler.cache.build_cache import BuildCache
from toolc.compiler.cache.changed_tools import build_changed
from toolc.compiler.cache.file_results import PieceCache
from toolc.compiler.cache.parallel import gather_many
from toolc.compiler.cache.validity import CacheKey
from toolc.compiler.pipeline.compile import Gather, compile_specs, gather
from toolc.compiler.pipeline.compile_file import FileCompiler, Piece
from toolc.compiler.project.discovery import SpecFile
from toolc.compiler.project.settings import NO_SETTINGS, Settings
from toolc.document.nodes import Document
from toolc.model.diagnostics import Diagnostics
from toolc.model.errors import SpecError

ODD = {
    "bom.yaml": b"\xef\xbb\xbf\xef\xbb\xbftoolc: 1\nname: bom\n",
    "latin.yaml": b"toolc: 1\nname: caf\xe9\n",
    "empty.yaml": b"",
    "broken.toml": b"toolc = 1\nname = [\n",
    "ignored.yaml": b"toolc: 1\nname: x\ndescription: no  # toolc: ignore[TC204] why\nbackend: {}\n",
}
"""Files with many findings."""

CALLER = f"""\
{CALLER_WITHOUT_STEPS}\
    steps: [{{id: one, tool: word_count, args: {{file: x}}}}, {{id: two, tool: git_log, args: {{}}}}]
"""
"""A tool whose findings depend on the tools it calls."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The built-in tools and the examples, compiled by three processes, two files at a time."""
    shutil.copytree(
        ROOT / "specs", tmp_path / "specs/own", ignore=shutil.ignore_patterns("toolc.yaml", "plugins", "templates")
    )
    shutil.copytree(ROOT / "docs/guides/examples", tmp_path / "specs/examples", ignore=shutil.ignore_patterns("*.toml"))
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: {0, 1, 2})
    # Threads that earlier tests have left do not count.
    count, left = threading.active_count, threading.active_count() - 1
    monkeypatch.setattr(threading, "active_count", lambda: count() - left)
    monkeypatch.setattr(parallel, "_FEW", 3)
    monkeypatch.setattr(parallel, "_CHUNK", 2)
    return Path("specs")


@pytest.fixture
def bad(folder: Path) -> Path:
    """The same with files that have many findings."""
    shutil.copytree(TEST_SPECS / "negative", folder / "negative")
    for name, data in ODD.items():
        (folder / name).write_bytes(data)
    (folder / "caller.yaml").write_text(CALLER, encoding="utf-8")
    return folder


def findings(folder: Path, gather: Gather) -> list[str]:
    return reports(compile_specs([folder], Settings(select=("TC",)), gather).diagnostics)


def built(folder: Path) -> dict[str, bytes]:
    """Return the files that a build by one process writes."""
    out = folder.parent / "out"
    write_build(compile_specs([folder]), out)
    return {str(path.relative_to(out)): path.read_bytes() for path in out.rglob("*.json")}


@pytest.fixture
def slow_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give every process the time to compile some files."""
    parse = FileCompiler.parse

    def slow_parse(
        compiler: FileCompiler, found: SpecFile, data: bytes | None, diagnostics: Diagnostics
    ) -> Document | None:
        time.sleep(0.005)
        return parse(compiler, found, data, diagnostics)

    monkeypatch.setattr(FileCompiler, "parse", slow_parse)


def gather_for_cache(files: Sequence[SpecFile], compiler: FileCompiler) -> Sequence[Piece]:
    """Compile as a check without a cache does."""
    return PieceCache(CacheKey((), None, {}, {}, None, 0), []).gather(files, compiler)


@pytest.mark.slow
@pytest.mark.parametrize("several", [gather_many, gather_for_cache], ids=["build", "check"])
@pytest.mark.usefixtures("slow_compiler")
def test_findings_are_the_same(bad: Path, several: Gather, compiled_files: list[str]) -> None:
    expected = findings(bad, gather)
    compiled_files.clear()
    assert findings(bad, several) == expected
    assert 0 < len(set(compiled_files)) < len([*bad.rglob("*.yaml"), *bad.rglob("*.toml")])


@pytest.mark.slow
@pytest.mark.parametrize("provider", ["openai_chat", "anthropic"])
@pytest.mark.usefixtures("slow_compiler")
def test_build_has_the_same_bytes(folder: Path, provider: str, compiled_files: list[str]) -> None:
    (folder.parent / "toolc.yaml").write_text(f"defaults: {{providers: {{{provider}: {{strict: true}}}}}}\n")
    expected = built(folder)
    compiled_files.clear()
    output = build_changed(BuildCache.load([folder], NO_SETTINGS, None))
    assert join(output.tools, output.toolsets) == expected
    files = len([*folder.rglob("*.yaml")])
    assert (len(set(compiled_files)) < files) == (provider == "openai_chat")


@pytest.mark.slow
def test_invalid_project_file_has_the_same_findings(bad: Path) -> None:
    (bad.parent / "toolc.yaml").write_text("vars: [\n", encoding="utf-8")
    assert findings(bad, gather) == findings(bad, gather_many) == findings(bad, gather_for_cache)


@pytest.mark.slow
def test_build_with_errors_is_rejected(bad: Path) -> None:
    compilation = compile_specs([bad], NO_SETTINGS, gather_many)
    with pytest.raises(SpecError, match="errors in the specs"):
        write_build(compilation, bad.parent / "out")
    assert not (bad.parent / "out").exists()
