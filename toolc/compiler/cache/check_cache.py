"""The cache of ``toolc check``: findings are stored in the user's cache folder and reused while they are valid.

There is one cache file per command line, folder and toolc version. Its answer (``validity``) is the result of the
last run. If an input changed, its details (``file_results``) still have the results of unchanged files.
A cache file or folder that cannot be used is ignored.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from toolc.compiler.cache.file import INVALID_CACHE, diagnostics_from_json, load, save
from toolc.compiler.cache.validity import CacheKey, cache_key_for
from toolc.compiler.project.settings import Settings
from toolc.model.diagnostics import Diagnostics

if TYPE_CHECKING:
    from toolc.compiler.pipeline.compile_file import FileCompiler, Piece
    from toolc.compiler.project.discovery import SpecFile


@dataclass(frozen=True, slots=True)
class Checked:
    """The result of a check: the number of tools that could be read, and every finding."""

    count: int
    diagnostics: Diagnostics


def check_specs(paths: Sequence[Path], settings: Settings) -> Checked:
    """Return the findings of ``compile_specs``, compiling only what changed. Raises ``UsageError`` as it does."""
    key = cache_key_for(["check"], paths, settings)
    cached = load(key.file)
    if checked := _restore(key, cached.answer):
        return checked
    from toolc.compiler.pipeline.compile import compile_specs  # lazy: +93 ms; a valid answer needs no compiler

    if len(key.contents) == 1:
        read: list[str] = []

        def gather(files: Sequence[SpecFile], compiler: FileCompiler) -> list[Piece]:
            read.extend(str(file.path) for file in files)
            return [compiler.compile(file, key.contents.get(str(file.path))) for file in files]

        compilation, details = compile_specs(key.paths, settings, gather), []
        is_complete = key.contents.keys() >= {*read}
    else:
        from toolc.compiler.cache.file_results import PieceCache  # lazy: +10 ms; a single file does not need it

        pieces = PieceCache(key, cached.details())
        compilation = compile_specs(key.paths, settings, pieces.gather, pieces.together)
        is_complete, details = pieces.is_complete, pieces.to_details()
    if key.file:
        save(key.file, key.answer(compilation) if is_complete else None, details)
    return Checked(len(compilation.tools), compilation.diagnostics)


def _restore(key: CacheKey, answer: Any) -> Checked | None:
    try:
        if not key.is_fresh(answer):
            return None
        return Checked(answer["count"], diagnostics_from_json(answer["findings"], answer["sources"]))
    except INVALID_CACHE:
        return None
