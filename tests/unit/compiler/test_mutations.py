"""Good specs with one random change: compilation is fast, and each finding has a valid position.

Twenty per file; for more: ``TOOLC_MUTATIONS=500 pytest tests/unit/compiler/test_mutations.py``.
"""

import os
import time
from pathlib import Path

import pytest
from compiling.places import problem_of
from mutations import SEEDS, mutate

from toolc.compiler.pipeline.compile import FileResult, compile_text
from toolc.compiler.project.discovery import Projects, SpecFile
from toolc.compiler.project.settings import Settings
from toolc.model.diagnostics import Diagnostics

COUNT = int(os.environ.get("TOOLC_MUTATIONS", "20"))
SECONDS = 5.0
EVERY_CHECK = Settings(select=("TC",))


def compiled(data: bytes, path: Path) -> FileResult:
    found = SpecFile(path=path, display_path=path.name, folder=None)
    return compile_text(data, found, Projects(Diagnostics()), EVERY_CHECK)


@pytest.mark.slow
@pytest.mark.timeout(0 if COUNT > 20 else 120)
@pytest.mark.parametrize("path", SEEDS, ids=lambda path: path.name)
def test_mutations_are_compiled_fast_with_valid_positions(path: Path) -> None:
    for number in range(COUNT):
        data = mutate(path, number)
        started = time.process_time()
        found = compiled(data, path).diagnostics
        assert time.process_time() - started < SECONDS, f"mutation {number} of {path.name}"
        for each in found.sorted():
            wrong = problem_of(each, found.source(each.span.path))
            assert not wrong, f"mutation {number} of {path.name}: {each.span}: {each.message}: {wrong}"


@pytest.mark.parametrize("path", SEEDS, ids=lambda path: path.name)
def test_findings_are_reproducible(path: Path) -> None:
    data = mutate(path, COUNT)
    assert compiled(data, path).diagnostics.sorted() == compiled(data, path).diagnostics.sorted()
