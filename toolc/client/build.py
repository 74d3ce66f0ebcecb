"""Build the registry and the provider definitions from specs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from toolc.compiler.pipeline.gc_pause import gc_paused
from toolc.model.errors import UsageError
from toolc.runtime import argument_checks

if TYPE_CHECKING:
    from toolc.compiler.build_output import Built
    from toolc.compiler.pipeline.compile import Compilation


def build(paths: str | Path | Sequence[str | Path], out: str | Path) -> Built:
    """Compile specs and write the registry and every provider's definitions to the folder ``out``.

    If a spec has an error, ``out`` stays unchanged. Raises ``SpecError`` and ``UsageError``.
    """
    given = (paths,) if isinstance(paths, str | Path) else argument_checks.sequence("paths", paths, "paths")
    if not given:
        raise UsageError("there is nothing to build; name a spec file or a folder of specs")
    out = argument_checks.path("out", out)
    return write_build(compile_paths([argument_checks.path("paths", path) for path in given]), out)


def compile_paths(paths: Sequence[Path]) -> Compilation:
    """Compile spec files and folders."""
    from toolc.compiler.pipeline.compile import compile_specs  # lazy: +17 ms; a built registry needs no compiler

    return compile_specs(paths)


def write_build(compilation: Compilation, out: str | Path) -> Built:
    """Write the output of ``build`` for compiled specs. Raises ``SpecError`` and ``UsageError``."""
    from toolc.compiler.build_output import render, write_output  # lazy: +30 ms; calls build nothing

    compilation.raise_errors()
    with gc_paused():
        names = [tool.name for tool in compilation.tools]
        rendered = render(compilation.located, compilation.tools)
        return write_output(rendered, names, compilation.toolsets, out)


def split_target(target: str) -> tuple[Path, str | None]:
    """Split ``PATH#NAME`` into path and name. If the whole text is an existing path, it is not split."""
    source, separator, name = target.rpartition("#")
    if not separator or _exists(Path(target)):
        return Path(target), None
    return Path(source), name


def _exists(path: Path) -> bool:
    """Return whether the path exists. A name that is too long for a file counts as missing."""
    try:
        return path.exists()
    except OSError:
        return False
