"""The sandbox of a tool: limits, network, secrets, workspace and image. See ``toolc.model.spec.tool`` for the rules."""

from typing import ClassVar, Final, Literal, TypeAlias, get_args

from toolc.dataclass import dataclass, field
from toolc.model.spec import keys
from toolc.model.spec.code_backends import CREDENTIAL, File
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
    """The resource limits of a call.

    ``workspace_bytes`` is None if the spec does not limit it. The defaults are enough for a small program in a common
    language. A tool that needs more writes it, which a review shows. The minima of ``pids`` and ``files`` are what
    the runtime, Python and a shell use themselves, with a reserve.
    """

    timeout_ms: int = 30_000
    """The duration of a call.

    Example: 2m
    """
    memory_bytes: int = 256 * MIB
    """The memory, including /tmp.

    Example: 1GiB
    """
    cpus: float = field(default=1.0, metadata=keys.key(keys.number(0.01, 1024), default=1))
    """The number of processors.

    Example: 0.5
    """
    pids: int = field(default=128, metadata=keys.key(keys.integer(16, 1_000_000)))
    """The number of processes and threads.

    Example: 64
    """
    output_bytes: int = 256 * 1024
    """The size of the result.

    Example: 1MiB
    """
    tmp_bytes: int = 64 * MIB
    """The size of /tmp.

    Example: 16MiB
    """
    files: int = field(default=1024, metadata=keys.key(keys.integer(16, 1_000_000)))
    """The number of open files.

    Example: 4096
    """
    file_size_bytes: int = 1024 * MIB
    """The size of one file.

    Example: 100MiB
    """
    workspace_bytes: int | None = field(default=None, metadata=keys.key(stored_if_set=True))
    """How much a call may add to its workspace, if that is ``rw`` or ``transaction``.

    Example: 2GiB
    """


@dataclass(frozen=True, slots=True)
class Limit:
    """The maximum that one call may use. ``name`` is a field of ``Limits``, with its unit.

    ``amount`` is infinite if the spec sets no limit, which is displayed only where it was changed.
    """

    name: str
    amount: float


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
    """The keys of ``workspace``, as a map: its mode, and how the changes of a transaction are committed.

    If ``writes`` is empty, any file may change.
    """

    mode: ClassVar = keys.Key(keys.choice(*get_args(WorkspaceMode)), default="none", is_required=True)
    """No access, read-only, read and write, or a copy whose changes are committed.

    Example: transaction
    """
    commit: Commit = "ask"
    """When the changes of a transaction are committed.

    Example: success
    """
    writes: tuple[str, ...] = ()
    """The files that a transaction may change: patterns of paths. Without it: all files.

    Example: ["out/**"]
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Destination:
    """One entry of an allow-list, in canonical form: lower case, without a dot at the end.

    ``host`` is a name or an IP address for ``exact`` (IPv6 without brackets), the part after ``*.`` for
    ``wildcard``, and empty for ``public``, which means every public address. With ``any_host``, the HTTP requests of
    a connection may name any host; otherwise only one that the entry allows.
    """

    kind: Literal["exact", "wildcard", "public"] = field(metadata=keys.NO_KEY)
    host: str = field(metadata=keys.NO_KEY)
    port: int = field(metadata=keys.NO_KEY)
    to: ClassVar = keys.Key(keys.TEXT, is_required=True)
    """The destination.

    Example: api.example.com:80
    """
    any_host: bool = field(default=False, metadata=keys.key(stored_if_set=True))
    """Whether HTTP requests without TLS may name any host, not only one that the entry allows."""


ALLOW_LIST: Final = keys.list_of(keys.either(keys.TEXT, keys.map_with(Destination, required=True)))
"""The kind of lists of destinations, each with or without settings."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkSpec:
    """The destinations that a call may connect to. An HTTP tool may also reach its own URL."""

    allow: tuple[Destination, ...] = field(default=(), metadata=keys.key(ALLOW_LIST, default=[]))
    """The allowed destinations: ``host:port``, ``*.example.com:443``, ``public:443`` for any public address, or a map.

    Example: [api.example.com:443]
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretSpec:
    """A secret that the tool needs. With ``broker``, its value stays outside of the sandbox.

    ``hosts`` are exact names, in canonical form, to which the value may be sent.

    Instead of: env from from_env key source value: write {hosts: [api.example.com]}, and let the user who runs the tool
        set the value of the secret
    """

    name: str = field(metadata=keys.NO_KEY)
    hosts: tuple[str, ...] = field(default=(), metadata=keys.key(is_set=True))
    """The hosts to which the value may be sent.

    Example: [api.example.com]
    """
    expose: Expose = "broker"
    """``broker`` keeps the value outside of the sandbox. ``env`` and ``file`` put it into the sandbox.

    Example: env
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxSpec:
    """The sandbox of a call. Without ``image`` and ``build``, it uses the release's base image or the host's ``/usr``.

    ``transaction`` is set if and only if ``workspace`` is ``transaction``.

    Instead of: environment envs variables: write 'env'
    Instead of: mount mounts volume volumes: write workspace: ro, or rw to change files; a call can access no other
        folder of this machine
    Instead of: mem mem_limit ram: write limits: {memory: 512MiB}
    Instead of: resources: write e.g. limits: {memory: 512MiB, cpus: 1}
    Instead of: allow egress hosts: write network: {allow: [api.example.com:443]}
    """

    image: str | None = None
    """The image. Without it: the base image of toolc.

    Example: debian:bookworm
    """
    build: Build | None = field(default=None, metadata=keys.key(keys.TEXT, excludes={"image": "keep one"}))
    """A folder with a Dockerfile, relative to the folder of the spec, from which the image is built.

    Example: image
    """
    workspace: WorkspaceMode = field(
        default="none",
        metadata=keys.key(keys.either(keys.choice(*get_args(WorkspaceMode)), keys.map_with(TransactionSpec))),
    )
    """The access of the tool to the user's files: a mode, or a map.

    Example: ro
    Instead of: =read =readonly =r: write ro
    Instead of: =readwrite =write =w: write rw
    Instead of: =false =no =off: write none
    Instead of: =*: write ro to let a call read the files, rw to let it change them
    """
    transaction: TransactionSpec | None = field(default=None, metadata=keys.NO_KEY)
    network: NetworkSpec = field(default_factory=NetworkSpec)
    """The network access. Only listed destinations are allowed.

    Example: {allow: [api.example.com:443]}
    """
    env: tuple[EnvVar, ...] = field(default=(), metadata=keys.key(keys.map_of(CREDENTIAL, "^[A-Za-z_][A-Za-z0-9_]*$")))
    """Constant environment variables. A value that is named like a credential is public or a secret.

    Example: {LC_ALL: C.UTF-8}
    """
    secret_env: tuple[SecretEnvVar, ...] = field(default=(), metadata=keys.NO_KEY)
    secrets: tuple[SecretSpec, ...] = field(
        default=(), metadata=keys.key(keys.map_of(keys.map_with(SecretSpec), "^[A-Za-z][A-Za-z0-9_]{0,63}$"))
    )
    """The secrets that the tool needs, by name. The user provides their values.

    Example: {API_TOKEN: {hosts: [api.example.com]}}
    """
    limits: Limits = field(default_factory=Limits)
    """The resource limits of a call.

    Example: {timeout: 5s, memory: 64MiB}
    """
    lifetime: Lifetime = "call"
    """Whether each call has its own sandbox, its own process of a fork server, or shares a session.

    Example: session
    """
    min_isolation: MinIsolation = "namespace"
    """The weakest isolation that is acceptable.

    Example: gvisor
    """
    run_as: Literal["nonroot"] | None = None
    """``nonroot`` does not allow the tool to run as user 0, even without capabilities.

    Example: nonroot
    """
