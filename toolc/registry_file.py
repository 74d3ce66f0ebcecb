"""Reading a ``registry.json``, strictly: what does not match its own digests is refused."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from toolc.calls import Tools, by_name
from toolc.digest import digests, parse
from toolc.errors import RegistryError, UsageError
from toolc.registry import RegisteredTool, RegistryFile, registry_from_json
from toolc.spec import MIB

MAX_REGISTRY_BYTES: Final = 256 * MIB
"""The largest registry file that is read."""


def read_registry(path: Path) -> RegistryFile:
    """The registry at ``path``. Raises ``UsageError`` (none there, unreadable) and ``RegistryError`` (damaged)."""
    try:
        # A device or a pipe may never end.
        if path.exists() and not path.is_file():
            raise UsageError(f"the registry {str(path)!r} is no file; make one with: toolc build")
        value = parse(_read_bounded(path))
    except FileNotFoundError:
        raise UsageError(f"there is no registry {str(path)!r}; make one with: toolc build") from None
    except OSError as error:
        raise UsageError(f"the registry {str(path)!r} cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise RegistryError(f"{path} is not JSON ({error}); build it again") from None
    try:
        file = registry_from_json(value)
    except RegistryError as error:
        raise RegistryError(f"{path}: {error}") from None
    _check_names(path, file.tools)
    others = by_name(tool.spec for tool in file.tools)
    for tool in file.tools:
        _check_digests(path, tool, others)
    return file


def _read_bounded(path: Path) -> bytes:
    if path.stat().st_size > MAX_REGISTRY_BYTES:
        raise UsageError(
            f"the registry {str(path)!r} is larger than {MAX_REGISTRY_BYTES // MIB} MiB, "
            "the most that toolc reads; build its tools into several"
        )
    return path.read_bytes()


def _check_names(path: Path, tools: Iterable[RegisteredTool]) -> None:
    names = [tool.spec.name for tool in tools]
    if names != sorted(set(names)):
        raise RegistryError(f"{path}: its tools are not sorted by name, each once; build it again")


def _check_digests(path: Path, tool: RegisteredTool, others: Tools) -> None:
    found = digests(tool.spec, others)
    for kind, recorded, actual in (
        ("surface", tool.surface_digest, found.surface),
        ("effect", tool.effect_digest, found.effect),
    ):
        if recorded != actual:
            raise RegistryError(
                f"{path}: tool {tool.spec.name!r} does not match its {kind} digest: recorded {recorded}, "
                f"found {actual}; the file was changed after it was built: build it again, and review it"
            )
