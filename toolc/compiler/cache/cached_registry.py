"""The registry of unchanged specs: a call of such a tool needs neither a parser nor the compiler.

A stored registry is read like a file of ``toolc build``, so its digests are computed again.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from toolc.compiler.cache.answers import Inputs
from toolc.compiler.cache.file import INVALID_CACHE
from toolc.compiler.project.settings import NO_SETTINGS
from toolc.dataclass import dataclass
from toolc.model.diagnostics import Diagnostics
from toolc.model.errors import RegistryError
from toolc.model.registry import RegistryFile
from toolc.model.registry_io import parse_registry, registry_bytes


@dataclass(frozen=True, slots=True)
class SpecRegistry:
    """The registry that specs would build (None if they have errors), and all their findings.

    ``local`` are the names of the tools that are defined in the specs, without built-in tools.
    """

    file: RegistryFile | None
    local: tuple[str, ...]
    diagnostics: Diagnostics


def registry_of_specs(paths: Sequence[Path]) -> SpecRegistry:
    """Return the stored registry of ``paths`` if nothing changed, else compile them. Raises ``UsageError``."""
    inputs = Inputs.read(["registry"], paths, NO_SETTINGS)
    if stored := _stored(inputs):
        return stored
    from toolc.compiler.pipeline.processes import compile_many  # lazy: +93 ms; a stored registry needs no compiler

    compilation = compile_many(paths, contents=inputs.contents)
    local = sorted(tool.spec.name for tool in compilation.local)
    if compilation.diagnostics.has_errors:
        return SpecRegistry(None, tuple(local), compilation.diagnostics)
    data = registry_bytes(compilation.registry())
    lifetimes = compilation.lifetimes
    inputs.store(compilation, [data.decode(), local, lifetimes])
    # Use the stored form, so that a spec runs the same way before and after a build.
    file = parse_registry(data, paths[0]).with_lifetimes(lifetimes)
    return SpecRegistry(file, tuple(local), compilation.diagnostics)


def _stored(inputs: Inputs) -> SpecRegistry | None:
    answer = inputs.answer()
    if answer is None:
        return None
    try:
        text, local, lifetimes = answer.more
        file = parse_registry(text.encode(), Path()).with_lifetimes(lifetimes)
        return SpecRegistry(file, tuple(local), answer.diagnostics)
    except (RegistryError, *INVALID_CACHE):
        return None
