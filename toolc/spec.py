"""A tool as declared: typed, frozen, every default filled in. Spans stay with the compiler's documents.

Names carry their units (``timeout_ms``, ``memory_bytes``). ``toolc.registry`` stores these types field
by field, so a field's name here is its name in ``registry.json``, and a changed default is a change of
format 1: they never change.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Final, Literal, TypeAlias

from toolc.schema import JsonObject, JsonValue, Schema
from toolc.spec_backends import (
    Argv,
    ErrorKind,
    ExitError,
    File,
    PluginBackend,
    PythonBackend,
    Script,
    ShellBackend,
    WhenGroup,
)
from toolc.spec_function import HostFunction
from toolc.template import Template

if TYPE_CHECKING:
    from toolc.spec_agent import AgentBackend  # start-up time: most tools are of another kind
    from toolc.spec_composite import CompositeBackend
    from toolc.spec_http import HttpBackend  # a score of types

__all__ = [
    "EFFECT",
    "FORMAT",
    "MIB",
    "SURFACE",
    "Annotations",
    "Argv",
    "Backend",
    "Build",
    "Commit",
    "Destination",
    "EnvVar",
    "ErrorKind",
    "ExitError",
    "Expect",
    "ExpectedChanges",
    "ExpectedNetwork",
    "Expose",
    "File",
    "Lifetime",
    "Limits",
    "MinIsolation",
    "Network",
    "PluginBackend",
    "ProviderChoice",
    "PythonBackend",
    "Result",
    "ResultFormat",
    "Retry",
    "Sandbox",
    "Script",
    "Secret",
    "SecretEnvVar",
    "ShellBackend",
    "Test",
    "ToolSpec",
    "Transaction",
    "WhenGroup",
    "WorkspaceMode",
]
"""With the types of the other backends, so that a spec's types are imported from one place."""

FORMAT: Final = 1
"""The spec format this toolc reads: the value of a file's ``toolc`` key."""

MIB: Final = 1024 * 1024

ResultFormat: TypeAlias = Literal["text", "json", "image", "none"]
WorkspaceMode: TypeAlias = Literal["none", "ro", "rw", "transaction"]
Commit: TypeAlias = Literal["always", "success", "ask", "never"]
Lifetime: TypeAlias = Literal["call", "session"]
Expose: TypeAlias = Literal["broker", "env", "file"]
MinIsolation: TypeAlias = Literal["namespace", "gvisor", "vm"]


Backend: TypeAlias = "ShellBackend | PythonBackend | HttpBackend | PluginBackend | CompositeBackend | AgentBackend"


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
class Transaction:
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
class Network:
    """What a call may connect to: nothing, unless it is listed. An HTTP tool may also reach its own URL."""

    allow: tuple[Destination, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Secret:
    """A secret the tool needs, by name. ``broker`` keeps its value outside of the sandbox.

    ``hosts`` are exact names, in canonical form, to which the value may go.
    """

    name: str
    hosts: tuple[str, ...] = ()
    expose: Expose = "broker"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sandbox:
    """What a call runs in. ``image`` and ``build`` None is the release's own base image (or the host's ``/usr``).

    ``transaction`` is there exactly where ``workspace`` is ``transaction``.
    """

    image: str | None = None
    build: Build | None = None
    workspace: WorkspaceMode = "none"
    transaction: Transaction | None = None
    network: Network = field(default_factory=Network)
    env: tuple[EnvVar, ...] = ()
    secret_env: tuple[SecretEnvVar, ...] = ()
    secrets: tuple[Secret, ...] = ()
    limits: Limits = field(default_factory=Limits)
    lifetime: Lifetime = "call"
    min_isolation: MinIsolation = "namespace"
    run_as: Literal["nonroot"] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Annotations:
    """Hints to clients, in MCP's words; None where the spec says nothing."""

    read_only: bool | None = None
    destructive: bool | None = None
    idempotent: bool | None = None
    open_world: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """How a tool's output is read: stdout or the body as text, as one JSON value, as an image, or not at all.

    ``files`` are patterns of workspace files returned as content; ``select`` is JMESPath; ``template`` is
    full Jinja2, checked at build and rendered in a sandbox at a call.
    """

    format: ResultFormat = "text"
    files: tuple[Template, ...] = ()
    select: str | None = None
    template: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Retry:
    """Try again after errors of these kinds, ``attempts`` times in all, waiting twice as long each time."""

    kinds: tuple[ErrorKind, ...] = ("network", "rate_limit", "timeout")
    attempts: int = 3
    backoff_ms: int = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderChoice:
    """What is special for one provider: ``strict`` asks for its strict mode."""

    provider: str
    strict: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedChanges:
    """The workspace's files that a call adds, changes and deletes: these and no others."""

    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    deleted: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedNetwork:
    """The destinations that a call reaches, and those that it is refused: these and no others, where not None."""

    allowed: tuple[Destination, ...] | None = None
    refused: tuple[Destination, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Expect:
    """What a test expects; what is None is not compared. ``json`` and ``structured`` hold a value in a list of one.

    ``json`` is what the result's JSON holds at least, ``structured`` all of its data. ``files`` are there after
    the call, and ``absent`` are not. ``network`` are all the destinations the call may have reached,
    ``connections`` those that it must.
    """

    text: str | None = None
    matches: str | None = None
    json: tuple[JsonValue] | None = None
    structured: tuple[JsonValue] | None = None
    error: ErrorKind | None = None
    files: tuple[File, ...] = ()
    absent: tuple[str, ...] = ()
    changes: ExpectedChanges | None = None
    network: tuple[Destination, ...] | None = None
    connections: ExpectedNetwork | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Test:
    """One entry of ``tests:``: a call, the workspace's files before it, and what must come of it."""

    __test__: ClassVar[bool] = False  # pytest: not a test class

    args: JsonObject = field(default_factory=dict)
    files: tuple[File, ...] = ()
    expect: Expect = field(default_factory=Expect)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSpec:
    """One tool of format 1.

    The *surface* is all that a model sees: name to examples. The *effect* is what a call does:
    backend to confirm. The rest (version, owner, tags, tests) is in neither digest. ``backend`` is a
    ``HostFunction`` only where the embedding program has made the tool itself.
    """

    name: str
    description: str
    parameters: Schema
    backend: Backend | HostFunction
    label: str | None = None
    annotations: Annotations = field(default_factory=Annotations)
    aliases: tuple[str, ...] = ()
    deprecated: str | None = None
    examples: tuple[JsonObject, ...] = ()
    result_schema: Schema | None = None
    providers: tuple[ProviderChoice, ...] = ()
    result: Result = field(default_factory=Result)
    sandbox: Sandbox = field(default_factory=Sandbox)
    retry: Retry | None = None
    confirm: bool = False
    version: str | None = None
    owner: str | None = None
    tags: tuple[str, ...] = ()
    tests: tuple[Test, ...] = ()


SURFACE: Final = (
    "name", "label", "description", "parameters", "annotations", "aliases", "deprecated", "examples",
    "result_schema", "providers",
)  # fmt: skip
"""The fields of the surface digest."""

EFFECT: Final = ("backend", "result", "sandbox", "retry", "confirm")
"""The fields of the effect digest."""
