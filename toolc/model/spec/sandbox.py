"""The sandbox of a tool: limits, network, secrets, workspace and image. See ``toolc.model.spec.tool`` for the rules."""

from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from toolc.model.spec.code_backends import File
from toolc.model.template import Template

MIB: Final = 1024 * 1024
WorkspaceMode: TypeAlias = Literal["none", "ro", "rw", "transaction"]
WRITABLE: Final[frozenset[WorkspaceMode]] = frozenset({"rw", "transaction"})
"""The modes of a workspace that a call can change."""

Commit: TypeAlias = Literal["always", "success", "ask", "never"]
Lifetime: TypeAlias = Literal["call", "fork", "session"]
Expose: TypeAlias = Literal["broker", "env", "file"]
MinIsolation: TypeAlias = Literal["namespace", "gvisor", "vm"]


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvVar:
    """One constant environment variable of the tool."""

    name: str
    value: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The resource limits of a call. ``cpus`` is a number of processors; ``files`` counts open files.

    ``workspace_bytes`` is by how much a call may grow its workspace, None if the spec does not limit that. The defaults
    are enough for a small program in a common language. A tool that needs more writes it, which a review shows.
    """

    timeout_ms: int = 30_000
    memory_bytes: int = 256 * MIB
    cpus: float = 1.0
    pids: int = 128
    output_bytes: int = 256 * 1024
    tmp_bytes: int = 64 * MIB
    files: int = 1024
    file_size_bytes: int = 1024 * MIB
    workspace_bytes: int | None = field(default=None, metadata={"stored_if_set": True})


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretEnvVar:
    """An environment variable of a plugin whose value uses secrets, or of any tool whose value is declared public."""

    name: str
    value: Template


@dataclass(frozen=True, slots=True, kw_only=True)
class Build:
    """``sandbox.build``: an image built from the files of a folder, including its Dockerfile.

    The paths of ``files`` are relative to the folder of the spec, and so is ``folder``.
    """

    folder: str
    files: tuple[File, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionSpec:
    """How the changes of a workspace with the mode ``transaction`` are committed.

    ``writes`` are patterns of the files that may change. If it is empty, any file may change.
    """

    commit: Commit = "ask"
    writes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Destination:
    """One entry of an allow-list, in canonical form: lower case, without a dot at the end.

    ``host`` is a name or an IP address for ``exact`` (IPv6 without brackets), the part after ``*.`` for
    ``wildcard``, and empty for ``public``, which means every public address. With ``any_host``, the HTTP requests of
    a connection may name any host; otherwise only one that the entry allows.
    """

    kind: Literal["exact", "wildcard", "public"]
    host: str
    port: int
    any_host: bool = field(default=False, metadata={"stored_if_set": True})


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkSpec:
    """The destinations that a call may connect to. An HTTP tool may also reach its own URL."""

    allow: tuple[Destination, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretSpec:
    """A secret that the tool needs. With ``broker``, its value stays outside of the sandbox.

    ``hosts`` are exact names, in canonical form, to which the value may be sent.
    """

    name: str
    hosts: tuple[str, ...] = ()
    expose: Expose = "broker"


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxSpec:
    """The sandbox of a call. Without ``image`` and ``build``, it uses the release's base image or the host's ``/usr``.

    ``transaction`` is set if and only if ``workspace`` is ``transaction``.
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
