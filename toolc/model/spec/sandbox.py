"""A tool as declared: typed, frozen, every default filled in. Spans stay with the compiler's documents.

Names carry their units (``timeout_ms``, ``memory_bytes``). ``toolc.model.registry`` stores these types field
by field, so a field's name here is its name in ``registry.json``, and a changed default is a change of
format 1: they never change.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from toolc.model.spec.code_backends import File
from toolc.model.template import Template

__all__ = [
    "MIB",
    "Build",
    "Commit",
    "Destination",
    "EnvVar",
    "Expose",
    "Lifetime",
    "Limits",
    "MinIsolation",
    "NetworkSpec",
    "SandboxSpec",
    "SecretEnvVar",
    "SecretSpec",
    "TransactionSpec",
    "WorkspaceMode",
]

MIB: Final = 1024 * 1024
WorkspaceMode: TypeAlias = Literal["none", "ro", "rw", "transaction"]
Commit: TypeAlias = Literal["always", "success", "ask", "never"]
Lifetime: TypeAlias = Literal["call", "session"]
Expose: TypeAlias = Literal["broker", "env", "file"]
MinIsolation: TypeAlias = Literal["namespace", "gvisor", "vm"]


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvVar:
    """One constant of the tool's environment."""

    name: str
    value: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a call may use. ``cpus`` is a number of processors; ``files`` counts open files."""

    timeout_ms: int = 30_000
    memory_bytes: int = 256 * MIB
    cpus: float = 1.0
    pids: int = 128
    output_bytes: int = 256 * 1024
    tmp_bytes: int = 64 * MIB
    files: int = 1024
    file_size_bytes: int = 1024 * MIB


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretEnvVar:
    """A variable of a plugin's environment whose value names secrets."""

    name: str
    value: Template


@dataclass(frozen=True, slots=True, kw_only=True)
class Build:
    """``sandbox.build``: an image made of this folder's files, its Dockerfile among them.

    ``files`` are relative to the spec's folder, as ``folder`` is.
    """

    folder: str
    files: tuple[File, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionSpec:
    """What becomes of a workspace's changes where its mode is ``transaction``.

    ``writes`` are patterns of the files that may change; empty means any file.
    """

    commit: Commit = "ask"
    writes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Destination:
    """One entry of an allow-list, in canonical form: lower case, no dot at the end.

    ``host`` is a name or an IP address for ``exact`` (IPv6 without brackets), what follows ``*.`` for
    ``wildcard``, and empty for ``public``, which is every public address.
    """

    kind: Literal["exact", "wildcard", "public"]
    host: str
    port: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkSpec:
    """What a call may connect to: nothing, unless it is listed. An HTTP tool may also reach its own URL."""

    allow: tuple[Destination, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretSpec:
    """A secret the tool needs, by name. ``broker`` keeps its value outside of the sandbox.

    ``hosts`` are exact names, in canonical form, to which the value may go.
    """

    name: str
    hosts: tuple[str, ...] = ()
    expose: Expose = "broker"


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxSpec:
    """What a call runs in. ``image`` and ``build`` None is the release's own base image (or the host's ``/usr``).

    ``transaction`` is there exactly where ``workspace`` is ``transaction``.
    """

    image: str | None = None
    build: Build | None = None
    workspace: WorkspaceMode = "none"
    transaction: TransactionSpec | None = None
    network: NetworkSpec = field(default_factory=NetworkSpec)
    env: tuple[EnvVar, ...] = ()
    secret_env: tuple[SecretEnvVar, ...] = ()
    secrets: tuple[SecretSpec, ...] = ()
    limits: Limits = field(default_factory=Limits)
    lifetime: Lifetime = "call"
    min_isolation: MinIsolation = "namespace"
    run_as: Literal["nonroot"] | None = None
