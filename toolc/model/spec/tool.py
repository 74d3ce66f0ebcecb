"""A tool as declared in a spec: typed, frozen, with all defaults filled in. The compiler keeps the spans separately.

Names include their units (``timeout_ms``, ``memory_bytes``). ``toolc.model.registry`` stores these types field by
field. The name of a field is therefore also its name in ``registry.json``, and changing a default would change
format 1. Names and defaults never change.
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

FORMAT: Final = 1
"""The spec format that this version of toolc reads: the value of the key ``toolc`` in a file."""

ResultFormat: TypeAlias = Literal["text", "json", "image", "none"]


Backend: TypeAlias = "ShellBackend | PythonBackend | HttpBackend | PluginBackend | CompositeBackend | AgentBackend"

SURFACE: Final = (
    "name", "label", "description", "parameters", "annotations", "aliases", "deprecated", "examples",
    "result_schema", "providers",
)  # fmt: skip
"""The fields of the surface digest."""

EFFECT: Final = ("backend", "result", "sandbox", "retry", "confirm")
"""The fields of the effect digest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Annotations:
    """Hints for clients, with the names of MCP. None if the spec does not set them."""

    read_only: bool | None = None
    destructive: bool | None = None
    idempotent: bool | None = None
    open_world: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultSpec:
    """How the output of a tool is read: stdout or body as text, as one JSON value, as an image, or not at all.

    ``files`` are patterns of workspace files that are returned as content. ``select`` is a JMESPath expression.
    ``template`` is full Jinja2: it is checked at build time and rendered in a sandbox during a call.
    """

    format: ResultFormat = "text"
    files: tuple[Template, ...] = ()
    select: str | None = None
    template: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Retry:
    """Try again after errors of these kinds, at most ``attempts`` times in total, doubling the wait each time.

    The default kinds often pass by themselves. With the default of three attempts, the waits are one and two seconds.
    """

    kinds: tuple[ErrorKind, ...] = ("network", "rate_limit", "timeout")
    attempts: int = 3
    backoff_ms: int = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderChoice:
    """Options for one provider. ``strict`` requests its strict mode."""

    provider: str
    strict: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedChanges:
    """Exactly the workspace files that a call adds, changes and deletes."""

    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    deleted: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedNetwork:
    """The exact destinations that a call must reach, and that must be refused. None is not compared."""

    allowed: tuple[Destination, ...] | None = None
    refused: tuple[Destination, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Expect:
    """What a test expects. Values that are None are not compared.

    ``json`` must be contained in the result's JSON, ``structured`` must be equal to its data; both are tuples of length
    one. ``files`` must exist after the call and ``absent`` must not. ``network`` lists all destinations that the call
    may reach, ``connections`` those that it must reach or be refused.
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
    """One entry of ``tests:``: a call, the workspace files before it, and the expected result."""

    __test__: ClassVar[bool] = False  # not a test class for pytest

    args: JsonObject = field(default_factory=dict)
    files: tuple[File, ...] = ()
    expect: Expect = field(default_factory=Expect)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSpec:
    """One tool of format 1.

    The *surface* is what a model sees: the fields from name to examples. The *effect* is what a call does: the
    fields from backend to confirm. The other fields (version, owner, tags, tests) are in neither digest.
    ``backend`` is a ``HostFunction`` only if the embedding program defined the tool.
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
