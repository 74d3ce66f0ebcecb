"""Messages between a driver and the actors of its nodes. Ray serializes them with pickle."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from functools import cache
from hashlib import sha256
from pathlib import Path
from secrets import token_hex
from typing import Final

import toolc
from toolc.client.registry import Registry, ToolCollection
from toolc.dataclass import dataclass, field
from toolc.model import errors
from toolc.model.call import Claims
from toolc.model.errors import InfrastructureError, RegistryError, ToolcError, UsageError
from toolc.model.json_schema import JsonObject
from toolc.model.lock_file import Lock
from toolc.model.registry import RegisteredTool, RegistryFile
from toolc.model.spec.policy import Policy
from toolc.runtime.sessions.pool import IDLE_SECONDS
from toolc.version import __version__

MAX_CALLS: Final = 1000
"""The maximum number of methods of one actor that run at the same time."""


@cache
def versions() -> Mapping[str, str]:
    """Return the versions that must match between the driver and a node, because they exchange pickled types.

    Two installations from a working copy can have the same version of toolc and different code.
    """
    package, digest = Path(toolc.__file__).parent, sha256()
    for path in sorted(package.rglob("*.py")):
        digest.update(b"%b\0%b\0" % (str(path.relative_to(package)).encode(), path.read_bytes()))
    version = f"{__version__} (the digest of its code begins with {digest.hexdigest()[:12]})"
    return {"toolc": version, "Python": platform.python_version()}


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeSetup:
    """The settings of the executor of each node."""

    tools: tuple[RegisteredTool, ...]
    parts: ToolCollection
    engine: str | None = None
    timeout: float | None = None
    session_idle: float = IDLE_SECONDS
    lock: Lock | None = None
    policy: Policy | None = None
    shared_workspace: str | None = None

    def registry(self) -> Registry:
        """Return the tools."""
        return Registry(RegistryFile(tools=self.tools), parts=self.parts)

    def all_tools(self) -> tuple[RegisteredTool, ...]:
        """Return the tools, including those that only other tools can call."""
        return (*self.tools, *self.parts.by_name.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeEngine:
    """An engine that is available on a node, its kinds of isolation, and the limits that it does not enforce fully."""

    name: str
    version: str
    isolation: tuple[str, ...]
    weak: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeReport:
    """A node's description of itself.

    ``refusal`` is the reason why it runs no calls. ``slots`` is its number of concurrent calls.
    """

    refusal: str = ""
    slots: int = 0
    engines: tuple[NodeEngine, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Denials:
    """The deny-list of the driver. A node ignores a list that is older than the one it has."""

    number: int = 0
    names: frozenset[str] = frozenset()
    tags: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteCall:
    """A call for a node. ``effect_digest`` identifies the version of the tool that the driver admitted and confirmed.

    ``arguments`` come from the caller. The node adds the parameters that are filled from ``claims``.
    """

    name: str
    effect_digest: str
    arguments: JsonObject
    call_id: str
    workspace: str | None
    timeout: float | None
    session: str
    is_confirmed: bool
    calls_others: bool
    denials: Denials
    claims: Claims
    has_copy: bool = False
    """Whether the workspace is a copy, which the driver has announced with ``expect``."""
    key: str = field(default_factory=lambda: token_hex(8))
    """Identifies the call on the node, because the ids of models such as ``call_1`` may appear twice."""


@dataclass(frozen=True, slots=True)
class Failed:
    """An exception of toolc that a node raised, as the name of its type and its message."""

    kind: str
    message: str

    def error(self) -> ToolcError:
        """Return the exception for the driver to raise."""
        kind = getattr(errors, self.kind, InfrastructureError)
        plain = {UsageError, errors.NoEngineError, errors.SandboxDiedError, errors.PolicyError, RegistryError}
        return kind(self.message) if kind in plain else InfrastructureError(self.message)


CLOSED: Final = Failed("UsageError", "the sandbox is closed, or the program has ended")
