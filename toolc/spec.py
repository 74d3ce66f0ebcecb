"""A tool as declared: typed, frozen, every default filled in. Spans stay with the compiler's documents.

Names carry their units (``timeout_ms``, ``memory_bytes``). ``toolc.registry`` stores these types field
by field, so a field's name here is its name in ``registry.json``, and a changed default is a change of
format 1: they never change.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Final, Literal, TypeAlias

from toolc.schema import JsonObject, JsonValue, Schema
from toolc.template import Template

FORMAT: Final = 1
"""The spec format this toolc reads: the value of a file's ``toolc`` key."""

MIB: Final = 1024 * 1024

ErrorKind: TypeAlias = Literal[
    "invalid_args", "not_found", "denied", "cancelled", "timeout", "out_of_memory", "output_limit",
    "exit_status", "network", "authentication", "rate_limit", "serialization", "file", "execution",
]  # fmt: skip
ResultFormat: TypeAlias = Literal["text", "json", "image", "none"]
WorkspaceMode: TypeAlias = Literal["none", "ro", "rw"]
MinIsolation: TypeAlias = Literal["namespace", "gvisor", "vm"]


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    """A file that travels with a tool: ``path`` relative to the spec's folder, and text or base64, never both."""

    path: str
    text: str | None = None
    base64: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Argv:
    """``argv:``: each element becomes one argument, an array that stands alone one per item."""

    tag: ClassVar[str] = "argv"
    elements: tuple[Template | WhenGroup, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class WhenGroup:
    """``{when: NAME, argv: [...]}``: kept only if the argument is present and neither false nor empty."""

    tag: ClassVar[str] = "group"
    when: str
    argv: tuple[Template, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """``script:`` or ``file:``: text run by an interpreter, parameters as ``ARG_<name>`` variables; no template."""

    tag: ClassVar[str] = "script"
    text: str
    interpreter: tuple[str, ...] = ("/bin/sh", "-eu")


@dataclass(frozen=True, slots=True, kw_only=True)
class ExitError:
    """One entry of ``errors:``: this exit status means this kind of error."""

    status: int
    kind: ErrorKind


@dataclass(frozen=True, slots=True, kw_only=True)
class ShellBackend:
    """``backend.shell``. ``success_exit_codes`` is None for ``any``."""

    tag: ClassVar[str] = "shell"
    command: Argv | Script
    stdin: Template | None = None
    success_exit_codes: tuple[int, ...] | None = (0,)
    errors: tuple[ExitError, ...] = ()
    allow_dash: tuple[str, ...] = ()
    progress: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PythonBackend:
    """``backend.python``: ``function`` of the file ``entry``, which is one of ``files``.

    Inline ``code:`` is a file of its own, named after the tool.
    """

    tag: ClassVar[str] = "python"
    entry: str
    function: str
    files: tuple[File, ...]


Backend: TypeAlias = ShellBackend | PythonBackend


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
class Sandbox:
    """What a call runs in. ``image`` None is the release's own base image (or the host's ``/usr``)."""

    image: str | None = None
    workspace: WorkspaceMode = "none"
    env: tuple[EnvVar, ...] = ()
    limits: Limits = field(default_factory=Limits)
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
    """How a tool's output is read: stdout as text, as one JSON value, as an image, or not at all."""

    format: ResultFormat = "text"


@dataclass(frozen=True, slots=True, kw_only=True)
class Expect:
    """What a test expects; what is None is not compared. ``json`` holds the value in a list of one."""

    text: str | None = None
    matches: str | None = None
    json: tuple[JsonValue] | None = None
    error: ErrorKind | None = None
    files: tuple[File, ...] = ()


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
    backend, result, sandbox. The rest (version, owner, tags, tests) is in neither digest.
    """

    name: str
    description: str
    parameters: Schema
    backend: Backend
    label: str | None = None
    annotations: Annotations = field(default_factory=Annotations)
    aliases: tuple[str, ...] = ()
    deprecated: str | None = None
    examples: tuple[JsonObject, ...] = ()
    result: Result = field(default_factory=Result)
    sandbox: Sandbox = field(default_factory=Sandbox)
    version: str | None = None
    owner: str | None = None
    tags: tuple[str, ...] = ()
    tests: tuple[Test, ...] = ()


SURFACE: Final = ("name", "label", "description", "parameters", "annotations", "aliases", "deprecated", "examples")
"""The fields of the surface digest."""

EFFECT: Final = ("backend", "result", "sandbox")
"""The fields of the effect digest."""
