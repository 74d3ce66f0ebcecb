"""Compile and render the tools that changed since the last build of ``build_cache``."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from toolc.compiler.build_output import RenderedTool, depends_on_others, render, split
from toolc.compiler.cache.build_cache import BuildCache, BuildOutput, Row
from toolc.compiler.cache.file import INVALID_CACHE
from toolc.compiler.cache.file_results import PieceCache
from toolc.compiler.located_tool import LocatedTool
from toolc.compiler.pipeline.compile import compile_specs


def build_changed(cache: BuildCache) -> BuildOutput:
    """Compile and render the tools that changed, and return them with the others. Raises ``UsageError``.

    Call this before writing the output, which changes the parent of the output folder.
    """
    first, *details = cache.cached.details() or [""]
    rows = _rows(first)
    pieces = PieceCache(cache.key, details, _rendered(cache, rows), _render_alone)
    compilation = compile_specs(cache.key.paths, cache.settings, pieces.gather, pieces.together)
    if compilation.diagnostics.has_errors:
        return BuildOutput(
            out="", names=(), tools=(), toolsets={}, diagnostics=compilation.diagnostics, answer=None, details=(),
            is_written=False,
        )  # fmt: skip
    rendered = dict(pieces.rendered or {})
    others = [tool for tool in compilation.located if tool.spec.name not in rendered]
    rendered.update(zip([tool.spec.name for tool in others], render(others, compilation.tools), strict=True))
    output = BuildOutput(
        out=cache.out or (os.path.relpath(compilation.out) if compilation.out else "build"),
        names=[tool.name for tool in compilation.tools],
        tools=[rendered[tool.name] for tool in compilation.tools],
        toolsets=compilation.toolsets,
        diagnostics=compilation.diagnostics,
        answer=cache.key.answer(compilation) if pieces.is_complete else None,
        details=pieces.to_details(),
        is_written=False,
    )
    return replace(output, is_written=True) if cache.has_written(output, rows) else output


def _render_alone(tools: Sequence[LocatedTool]) -> dict[str, RenderedTool] | None:
    """Return tools by name, rendered; None if the texts of one depend on other tools."""
    specs = [tool.spec for tool in tools]
    if any(map(depends_on_others, specs)):
        return None
    return dict(zip([tool.name for tool in specs], render(tools, specs), strict=True))


def _rendered(cache: BuildCache, rows: Sequence[Row]) -> dict[str, RenderedTool]:
    """Return the tools in the folder by name; empty if the folder has changed since the last build."""
    try:
        if not rows or not cache.is_folder_unchanged():
            return {}
        out, _, toolsets = cache.folder
        texts = split(Path(out), toolsets, [sizes for _, _, sizes, _ in rows])
        if not cache.is_folder_unchanged():  # another build replaced it concurrently
            return {}
        return {
            name: RenderedTool(each, losses, digest)
            for each, (name, losses, _, digest) in zip(texts, rows, strict=True)
        }
    except INVALID_CACHE:
        return {}


def _rows(text: str) -> list[Row]:
    """Return the rows that ``BuildCache.save`` stored; empty if they are missing."""
    try:
        rows = json.loads(text)
        return [(str(name), int(losses), list(sizes), str(digest)) for name, losses, sizes, digest in rows]
    except INVALID_CACHE:
        return []
