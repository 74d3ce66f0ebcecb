"""A tool as declared: typed, frozen, every default filled in. Spans stay with the compiler's documents.

Names carry their units (``timeout_ms``, ``memory_bytes``). ``toolc.model.registry`` stores these types field
by field, so a field's name here is its name in ``registry.json``, and a changed default is a change of
format 1: they never change.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Final, Literal, TypeAlias

from toolc.model.json_schema import JsonObject, JsonValue, Schema
from toolc.model.spec.code_backends import ErrorKind, File, HostFunction, PluginBackend, PythonBackend, ShellBackend
from toolc.model.spec.sandbox import Destination, SandboxSpec
from toolc.model.template import Template

if TYPE_CHECKING:
    from toolc.model.spec.composed_backends import AgentBackend, CompositeBackend
    from toolc.model.spec.http_backend import HttpBackend

__all__ = [
    "EFFECT",
    "FORMAT",
    "SURFACE",
    "Annotations",
    "Backend",
    "Expect",
    "ExpectedChanges",
    "ExpectedNetwork",
    "ProviderChoice",
    "ResultFormat",
    "ResultSpec",
    "Retry",
    "Test",
    "ToolSpec",
]

"""With the types of the other backends, so that a spec's types are imported from one place."""

FORMAT: Final = 1
"""The spec format this toolc reads: the value of a file's ``toolc`` key."""

ResultFormat: TypeAlias = Literal["text", "json", "image", "none"]


Backend: TypeAlias = "ShellBackend | PythonBackend | HttpBackend | PluginBackend | CompositeBackend | AgentBackend"


@dataclass(frozen=True, slots=True, kw_only=True)
class Annotations:
    """Hints to clients, in MCP's words; None where the spec says nothing."""

    read_only: bool | None = None
    destructive: bool | None = None
    idempotent: bool | None = None
    open_world: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultSpec:
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
    result: ResultSpec = field(default_factory=ResultSpec)
    sandbox: SandboxSpec = field(default_factory=SandboxSpec)
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
