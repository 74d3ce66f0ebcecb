"""One tool from a command line: ``SPEC``, ``SPEC#NAME``, or a name with ``--registry``."""

from __future__ import annotations

from pathlib import Path

from toolc.api import Registry, split_target
from toolc.cli.common import open_registry
from toolc.errors import UsageError
from toolc.registry import RegisteredTool


def find_registry(target: str, registry: str | None) -> Registry:
    """A registry of the one tool that ``target`` names. Raises ``UsageError`` where it names none or several."""
    if registry is not None:
        return open_registry(registry).only(target)
    if not split_target(target)[0].exists():
        raise UsageError(
            f"there is no file or folder {str(Path(target))!r}; "
            "for a tool of a registry add: --registry build/registry.json"
        )
    found = open_registry(target)
    if len(found) != 1:
        first, *others = found.names
        raise UsageError(f"{target} holds {len(found)} tools; say which: {target}#{first} (or {', '.join(others)})")
    return found


def find_tool(target: str, registry: str | None) -> RegisteredTool:
    """The one tool that ``target`` names, with its digests. Raises ``UsageError``."""
    found = find_registry(target, registry)
    return found.registered(found.names[0])
