"""What several processes compile is what one compiles, byte for byte."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from paths import ROOT, TEST_SPECS

from toolc.client.build import write_build
from toolc.compiler.build_output import join
from toolc.compiler.cache import parallel
from toolc.compiler.cache.answers import CacheKey
from toolc.compiler.cache.build_cache import BuildCache
from toolc.compiler.cache.parallel import gather_many
from toolc.compiler.cache.pieces import PieceCache
from toolc.compiler.pipeline.compile import Gather, compile_specs, gather
from toolc.compiler.pipeline.compile_file import FileCompiler, Piece
from toolc.compiler.project.discovery import SpecFile
from toolc.compiler.project.settings import NO_SETTINGS, Settings
from toolc.document.nodes import Document
from toolc.model.diagnostics import Diagnostics
from toolc.model.errors import SpecError
from toolc.reporters import FORMATS, render
from toolc.reporters.base import Report

ODD = {
    "bom.yaml": b"\xef\xbb\xbf\xef\xbb\xbftoolc: 1\nname: bom\n",
    "latin.yaml": b"toolc: 1\nname: caf\xe9\n",
    "empty.yaml": b"",
    "broken.toml": b"toolc = 1\nname = [\n",
    "ignored.yaml": b"toolc: 1\nname: x\ndescription: no  # toolc: ignore[TC204] why\nbackend: {}\n",
}
"""Files with much to say about."""


CALLER = b"""\
toolc: 1
name: caller
description: Count the words of one file and then those of another one.
parameters: {}
backend:
  composite:
    strategy: sequential
    steps: [{id: one, tool: word_count, args: {file: x}}, {id: two, tool: git_log, args: {}}]
"""
"""A tool whose findings depend on what it calls."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The first tools and the examples, which three processes compile two files at a time."""
    shutil.copytree(ROOT / "specs", tmp_path / "specs/own", ignore=shutil.ignore_patterns("toolc.yaml", "plugins"))
    shutil.copytree(ROOT / "docs/guides/examples", tmp_path / "specs/examples", ignore=shutil.ignore_patterns("*.toml"))
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: {0, 1, 2})
    monkeypatch.setattr(parallel, "_FEW", 3)
    monkeypatch.setattr(parallel, "_CHUNK", 2)
    return Path("specs")


@pytest.fixture
def bad(folder: Path) -> Path:
    """The same with files among them that have much to be said about."""
    shutil.copytree(TEST_SPECS / "negative", folder / "negative")
    for name, data in ODD.items():
        (folder / name).write_bytes(data)
    (folder / "caller.yaml").write_bytes(CALLER)
    return folder


def findings(folder: Path, gather: Gather) -> list[str]:
    compilation = compile_specs([folder], Settings(select=("TC",)), gather)
    report = Report(diagnostics=compilation.diagnostics, version="1", folder=".", pages={}, color=False)
    fixes = [repr(each.fix) for each in compilation.diagnostics.sorted()]
    return [*(render(report, each) for each in FORMATS), *fixes]


def built(folder: Path) -> dict[str, bytes]:
    """The files that a build by one process writes."""
    out = folder.parent / "out"
    write_build(compile_specs([folder]), out)
    return {str(path.relative_to(out)): path.read_bytes() for path in out.rglob("*.json")}


def compiled_here(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Grows with each file that this process compiles."""
    names: list[str] = []
    compile_document = FileCompiler.compile_document

    def noted(compiler: FileCompiler, found: SpecFile, document: Document | None, diagnostics: Diagnostics) -> Piece:
        names.append(found.shown)
        time.sleep(0.005)
        return compile_document(compiler, found, document, diagnostics)

    monkeypatch.setattr(FileCompiler, "compile_document", noted)
    return names


def gather_to_keep(files: Sequence[SpecFile], compiler: FileCompiler) -> Sequence[Piece]:
    """As a check does that has no cache."""
    return PieceCache(CacheKey((), None, {}, {}, None, 0), []).gather(files, compiler)


@pytest.mark.slow
@pytest.mark.parametrize("several", [gather_many, gather_to_keep], ids=["build", "check"])
def test_the_findings_are_the_same_and_others_compiled_some_of_the_files(
    bad: Path, several: Gather, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = findings(bad, gather)
    here = compiled_here(monkeypatch)
    assert findings(bad, several) == wanted
    assert 0 < len(set(here)) < len([*bad.rglob("*.yaml"), *bad.rglob("*.toml")])


@pytest.mark.slow
@pytest.mark.parametrize("provider", ["openai_chat", "anthropic"])
def test_a_build_has_the_same_bytes(folder: Path, provider: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder.parent / "toolc.yaml").write_text(f"defaults: {{providers: {{{provider}: {{strict: true}}}}}}\n")
    wanted = built(folder)
    here = compiled_here(monkeypatch)
    output = BuildCache.load([folder], NO_SETTINGS, None).build()
    assert join(output.tools, output.toolsets) == wanted
    files = len([*folder.rglob("*.yaml")])
    assert (len(set(here)) < files) == (provider == "openai_chat")


@pytest.mark.slow
def test_where_a_project_file_is_wrong_the_findings_are_the_same(bad: Path) -> None:
    (bad.parent / "toolc.yaml").write_text("vars: [\n", encoding="utf-8")
    wanted = findings(bad, gather)
    assert findings(bad, gather_many) == wanted
    assert findings(bad, gather_to_keep) == wanted


@pytest.mark.slow
def test_a_build_that_is_not_to_be_is_refused_as_ever(bad: Path) -> None:
    compilation = compile_specs([bad], NO_SETTINGS, gather_many)
    with pytest.raises(SpecError, match="errors in the specs"):
        write_build(compilation, bad.parent / "out")
    assert not (bad.parent / "out").exists()
