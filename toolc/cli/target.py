"""One tool from a command line: ``SPEC``, ``SPEC#NAME``, or a name with ``--registry``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from toolc.cli.common import compiled_source, open_registry
from toolc.client.build import split_target
from toolc.client.registry import Registry
from toolc.model.errors import UsageError


def find_registry(target: str, registry: str | None) -> Registry:
    """A registry of the one tool that ``target`` names. Raises ``UsageError`` where it names none or several."""
    if registry is not None:
        return open_registry(registry).only(target)
    source, name = split_target(target)
    if not source.exists():
        raise UsageError(
            f"there is no file or folder {str(Path(target))!r}; "
            "for a tool of a registry add: --registry build/registry.json"
        )
    if name is not None or source.suffix == ".json":
        found = open_registry(target)
        return _single(target, found, found.names)
    compilation = compiled_source(source)
    own = sorted(tool.spec.name for tool in compilation.own)
    return _single(target, Registry.compiled(compilation), own)


def _single(target: str, registry: Registry, names: Sequence[str]) -> Registry:
    if len(names) != 1:
        first, *others = names
        raise UsageError(f"{target} holds {len(names)} tools; say which: {target}#{first} (or {', '.join(others)})")
    return registry.only(*names)
