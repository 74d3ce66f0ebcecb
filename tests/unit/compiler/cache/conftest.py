"""Fixtures of the tests of caches."""

import pytest

from toolc.compiler.cache import validity
from toolc.compiler.pipeline.compile_file import FileCompiler, Piece
from toolc.compiler.project.discovery import SpecFile
from toolc.document.nodes import Document
from toolc.model.diagnostics import Diagnostics


@pytest.fixture(autouse=True)
def _old_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Treat no file as just changed."""
    monkeypatch.setattr(validity, "_RACY_NS", -(10**18))


@pytest.fixture
def compiled_files(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The paths of the files that this process compiles, in order."""
    paths: list[str] = []
    compile_document = FileCompiler.compile_document

    def record(compiler: FileCompiler, found: SpecFile, document: Document | None, diagnostics: Diagnostics) -> Piece:
        paths.append(found.display_path)
        return compile_document(compiler, found, document, diagnostics)

    monkeypatch.setattr(FileCompiler, "compile_document", record)
    return paths
