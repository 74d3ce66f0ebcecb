"""Compile specs and render their tools for a build, in several processes if there are many."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from toolc.compiler.build_output import RenderedTool, depends_on_others, render
from toolc.compiler.checks import internal_error
from toolc.compiler.pipeline.compile import Compilation, compile_specs
from toolc.compiler.pipeline.compile_file import FileCompiler, Piece
from toolc.compiler.pipeline.processes import compile_each
from toolc.compiler.project.discovery import SpecFile
from toolc.compiler.project.settings import Settings


def compile_and_render(
    paths: Sequence[Path], settings: Settings, contents: Mapping[str, bytes]
) -> tuple[Compilation, list[RenderedTool]]:
    """Compile the specs, and return the texts of each tool in a build. If there are errors, there are no texts.

    ``contents`` are the bytes of files that have been read already. The process that compiles a file also renders its
    tools, unless their texts depend on other tools. Raises ``UsageError``.
    """
    rendered: dict[str, RenderedTool] = {}

    def gather(files: Sequence[SpecFile], compiler: FileCompiler) -> Sequence[Piece]:
        results = compile_each(files, compiler, contents, _render_alone)
        for _, texts in results:
            rendered.update(texts)
        return [piece for piece, _ in results]

    compilation = compile_specs(paths, settings, gather)
    if compilation.diagnostics.has_errors:
        return compilation, []
    others = [tool for tool in compilation.located if tool.spec.name not in rendered]
    rendered.update(zip([tool.spec.name for tool in others], render(others, compilation.tools), strict=True))
    return compilation, [rendered[tool.name] for tool in compilation.tools]


def _render_alone(piece: Piece) -> dict[str, RenderedTool]:
    """Return the texts of a file's tools that do not depend on other tools, by name. After an error, there are none."""
    tools = [tool for tool in piece.tools if not depends_on_others(tool.spec)]
    if piece.diagnostics.has_errors:
        return {}
    try:
        specs = [tool.spec for tool in tools]
        return dict(zip([spec.name for spec in specs], render(tools, specs), strict=True))
    except Exception as error:  # noqa: BLE001  a bug that one file causes must not hide the findings of others
        piece.diagnostics.append(internal_error(tools[0].span("name"), error))
        return {}
