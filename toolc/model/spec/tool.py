"""A tool as declared in a spec: typed, frozen, with all defaults filled in. The compiler keeps the spans separately.

Names include their units (``timeout_ms``, ``memory_bytes``). ``toolc.model.registry`` stores these types field by
field. The name of a field is therefore also its name in ``registry.json``, and changing a default would change
format 1. Names and defaults never change.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar, Final, Literal, TypeAlias

from toolc.dataclass import dataclass, field
from toolc.model.json_schema import JsonObject, JsonValue, Schema
from toolc.model.spec import keys
from toolc.model.spec.code_backends import (
    ATTEMPTS,
    ErrorKind,
    File,
    HostFunction,
    PluginBackend,
    PythonBackend,
    ShellBackend,
)
from toolc.model.spec.sandbox import Destination, SandboxSpec
from toolc.model.template import Template

if TYPE_CHECKING:
    from toolc.model.spec.composed_backends import AgentBackend, CompositeBackend
    from toolc.model.spec.http_backend import HttpBackend
    from toolc.model.spec.mcp_backend import McpBackend

FORMAT: Final = 1
"""The spec format that this version of toolc reads: the value of the key ``toolc`` in a file."""

ResultFormat: TypeAlias = Literal["text", "json", "image", "none"]


Backend: TypeAlias = (
    "ShellBackend | PythonBackend | HttpBackend | PluginBackend | McpBackend | CompositeBackend | AgentBackend"
)


class Backends:
    """The kinds of backends. A tool has exactly one.

    Instead of: bash cmd command exec process run sh: write shell: {argv: [...]} for one program, or shell: {script:
        ...}
    Instead of: argv: write shell: {argv: [...]}
    Instead of: script: write shell: {script: ...}
    Instead of: code: write python: {code: ...}
    Instead of: function preload py python3 requirements: write python: {code: ...} or python: {file: NAME.py}
    Instead of: api https method request rest url: write http: {method: GET, url: ...}
    Instead of: kind type: the kind is a key: write e.g. shell: {argv: [...]}
    """

    one_of: ClassVar = ("shell", "python", "http", "plugin", "mcp", "composite", "agent")
    shell: ClassVar = keys.Key(keys.map_at("code_backends.ShellBackend"))
    """A program, or a script with parameters as variables.

    Example: {argv: [wc, -w, --, "{{ path }}"]}
    Instead of: type=shell type=command: write shell: {argv: [...]}
    Instead of: type=bash: write shell: {script: ...}
    """
    python: ClassVar = keys.Key(keys.map_at("code_backends.PythonBackend"))
    """A Python function, called with the arguments as keywords.

    Example: {file: count.py, function: count_words}
    Instead of: type=python type=function: write python: {file: NAME.py}
    """
    http: ClassVar = keys.Key(keys.map_at("http_backend.HttpBackend"))
    """One HTTP request. The host is constant, and secrets do not enter the sandbox.

    Example: {method: GET, url: "https://api.example.com/items/{{ id }}"}
    Instead of: type=http type=rest: write http: {method: GET, url: ...}
    """
    plugin: ClassVar = keys.Key(keys.map_at("code_backends.PluginBackend"))
    """A process that reads and writes newline-delimited JSON.

    Example: {command: [python3, plugin.py], files: [plugin.py]}
    Instead of: type=plugin: write plugin: {command: [...]}
    """
    mcp: ClassVar = keys.Key(keys.map_at("mcp_backend.McpBackend"))
    """A tool of an MCP server, which runs in the sandbox and must define the tool as it was reviewed.

    Example: {server: time, tool: get_current_time, definition: {name: get_current_time, inputSchema: {type: object}}}
    Instead of: type=mcp: write mcp: {server: NAME, tool: NAME, definition: {...}}
    """
    composite: ClassVar = keys.Key(keys.map_at("composed_backends.CompositeBackend"))
    """Calls of other tools.

    Example: {strategy: sequential, steps: [{id: fetch, tool: http_fetch}]}
    """
    agent: ClassVar = keys.Key(keys.map_at("composed_backends.AgentBackend"))
    """A sub-agent: a model that can call other tools.

    Example: {provider: anthropic, model: claude-sonnet-4-5, instructions: Summarize.}
    """


STRICT: Final = ("anthropic", "bedrock", "cohere", "gemini", "mistral", "openai_chat", "openai_responses")
"""The providers that have a strict mode, for a tool or for a request."""

OPTIONS: Final[Mapping[str, str]] = {**dict.fromkeys(STRICT, "strict"), "mcp": "portable"}
"""The option of each provider that has one, a field of ``ProviderChoice``."""

TOOL_NAME: Final = keys.matching("^[A-Za-z_][A-Za-z0-9_-]{0,63}$")
"""The kind of keys that hold the name of a tool."""

CLAIM: Final = "^[A-Za-z0-9_][A-Za-z0-9_.:/-]{0,199}$"
"""The pattern of the name of a claim, such as ``sub`` or ``https://example.com/tenant``."""

SURFACE: Final = (
    "name", "label", "description", "parameters", "annotations", "aliases", "deprecated", "examples",
    "result_schema", "providers",
)  # fmt: skip
"""The fields of the surface digest."""

EFFECT: Final = ("backend", "result", "sandbox", "retry", "confirm", "json_text", "caller")
"""The fields of the effect digest. Of those that are stored only if they are set, it has those that are stored."""


MIN_RESULT_CHARS: Final = 1000
MAX_RESULT_CHARS: Final = 500_000
"""The bounds of ``result.max_chars``. Claude Code accepts at most 500,000 characters, however large the hint is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallerParameter:
    """A parameter whose value the host takes from the caller, so that no model sees it or can set it.

    ``claim`` is ``sub`` for ``from: caller.sub``. ``schema`` is the schema of a string.
    """

    name: str
    claim: str
    schema: JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class Annotations:
    """Hints for clients, with the names of MCP. None if the spec does not set them."""

    read_only: bool | None = None
    """Whether the tool changes nothing."""
    destructive: bool | None = None
    """Whether the tool may delete or overwrite data."""
    idempotent: bool | None = None
    """Whether repeating a call has no additional effect."""
    open_world: bool | None = None
    """Whether the tool interacts with external systems, such as the web."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultSpec:
    """How the output of a tool becomes a result.

    ``template`` is full Jinja2: it is checked at build time and rendered in a sandbox during a call.
    """

    format: ResultFormat = "text"
    """How stdout or the body of a response is read: as text, as one JSON value, as an image, or not at all.

    Example: json
    """
    files: tuple[Template, ...] = ()
    """Workspace files that are returned as content: patterns of paths, templates.

    Example: ["plots/*.png"]
    """
    select: str | None = field(default=None, metadata=keys.key(keys.EXPRESSION))
    """The part of a JSON result to keep, in JMESPath.

    Example: items[].name
    """
    template: str | None = None
    """The text for the model, a Jinja template.

    Example: "{{ result.name }} is {{ result.state }}"
    """
    raw: bool = field(default=False, metadata=keys.key(stored_if_set=True))
    """Whether the text keeps the control sequences of terminals and the overwritten states of lines."""
    max_chars: int | None = field(
        default=None, metadata=keys.key(keys.integer(MIN_RESULT_CHARS, MAX_RESULT_CHARS), stored_if_set=True)
    )
    """The maximum length of a result that ``toolc serve`` sends, in characters, which MCP clients learn too.

    Example: 200000
    """
    schema: ClassVar = keys.Key(keys.SCHEMA)
    """The JSON Schema of the structured result, which definitions contain.

    Example: {type: object, properties: {name: {type: string}}}
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Retry:
    """When to repeat a failed call. Requires ``annotations.idempotent: true``.

    The default kinds often pass by themselves. With the default of three attempts, the waits are one and two seconds.
    """

    kinds: tuple[ErrorKind, ...] = field(default=("network", "rate_limit", "timeout"), metadata=keys.key(is_set=True))
    """The kinds of error after which the call is repeated.

    Example: [network]
    """
    attempts: int = field(default=3, metadata=keys.key(ATTEMPTS))
    """The maximum number of attempts in total.

    Example: 5
    """
    backoff_ms: int = 1000
    """The first wait, which doubles each time.

    Example: 500ms
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderChoice:
    """Options for one provider."""

    provider: str = field(metadata=keys.NO_KEY)
    strict: bool = False
    """Whether to request its strict mode."""
    portable: bool = field(default=True, metadata=keys.key(stored_if_set=True))
    """Only for ``mcp``: whether the definition leaves out what a client or its provider refuses."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedChanges:
    """Exactly the workspace files that a call adds, changes and deletes."""

    added: tuple[str, ...] = ()
    """Files that the call added.

    Example: [out/a.txt]
    """
    changed: tuple[str, ...] = ()
    """Files that the call changed.

    Example: [notes.md]
    """
    deleted: tuple[str, ...] = ()
    """Files that the call deleted.

    Example: [old.txt]
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedNetwork:
    """The exact destinations that a call must reach, and that must be refused. None is not compared."""

    allowed: tuple[Destination, ...] | None = field(default=None, metadata=keys.key(keys.list_of(keys.TEXT)))
    """All destinations that the call reached.

    Example: [api.example.com:443]
    """
    refused: tuple[Destination, ...] | None = field(default=None, metadata=keys.key(keys.list_of(keys.TEXT)))
    """All destinations that were refused.

    Example: [metadata.example.com:80]
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Expect:
    """What a test expects. Values that are None are not compared.

    ``json`` and ``structured`` are tuples of length one. ``network`` lists all destinations that the call may reach,
    ``connections`` those that it must reach or be refused.

    Instead of: contains includes pattern regex: write matches: ... (a regular expression)
    Instead of: equals result value: write text: ..., or json: ...
    Instead of: exit_code exit_status returncode: write error: exit_status if the call must fail
    """

    text: str | None = field(default=None, metadata=keys.key(keys.STRING))
    """The text, exactly.

    Example: "2 notes.md\\n"
    Instead of: stdout output
    """
    matches: str | None = field(default=None, metadata=keys.key(keys.STRING))
    """A regular expression found in the text.

    Example: ^[0-9]+
    """
    json: tuple[JsonValue] | None = field(default=None, metadata=keys.key(keys.JSON))
    """JSON that the result must contain. Its maps may have more keys.

    Example: {count: 2}
    """
    structured: tuple[JsonValue] | None = field(default=None, metadata=keys.key(keys.JSON))
    """The structured result, exactly.

    Example: {count: 2}
    """
    error: ErrorKind | None = None
    """The kind of error.

    Example: not_found
    """
    files: tuple[File, ...] = field(default=(), metadata=keys.key(keys.map_of(keys.Kind("string or null"))))
    """Workspace files after the call, by path. Null if the file must not exist.

    Example: {out.txt: "a", old.txt: null}
    """
    absent: tuple[str, ...] = field(default=(), metadata=keys.NO_KEY)
    changes: ExpectedChanges | None = None
    """All changes of the call in the workspace.

    Example: {added: [out.txt]}
    """
    network: tuple[Destination, ...] | None = field(
        default=None, metadata=keys.key(keys.either(keys.list_of(keys.TEXT), keys.map_with(ExpectedNetwork)))
    )
    """All destinations that the call may have reached; or, as a map, those that it reached and that were refused.

    Example: [api.example.com:443]
    """
    connections: ExpectedNetwork | None = field(default=None, metadata=keys.NO_KEY)


@dataclass(frozen=True, slots=True, kw_only=True)
class Test:
    """One entry of ``tests:``: a call and its expected result.

    Instead of: arguments input inputs parameters params: write 'args'
    Instead of: expected output result: write expect: {text: ...}
    Instead of: description name title: write it as a comment, because a test has no name
    """

    __test__: ClassVar[bool] = False  # not a test class for pytest

    args: JsonObject = field(default_factory=dict, metadata=keys.key(keys.map_of(keys.JSON)))
    """The arguments.

    Example: {path: notes.md}
    """
    caller: tuple[tuple[str, str], ...] = field(
        default=(), metadata=keys.key(keys.map_of(keys.STRING, CLAIM), stored_if_set=True)
    )
    """What the host knows about the caller, for parameters with ``from``.

    Example: {sub: user-1}
    """
    files: tuple[File, ...] = field(default=(), metadata=keys.key(keys.map_of(keys.STRING)))
    """Workspace files before the call, by path.

    Example: {notes.md: "two words"}
    """
    expect: Expect = field(default_factory=Expect)
    """The expected result.

    Example: {text: "2 notes.md"}
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSpec:
    """One tool.

    The *surface* is what a model sees: the fields from name to examples. The *effect* is what a call does: the
    fields from backend to caller. The other fields (version, owner, tags, tests) are in neither digest.
    ``backend`` is a ``HostFunction`` only if the embedding program defined the tool.

    Instead of: argv command cmd exec run runs: write backend: {shell: {argv: [...]}}
    Instead of: script: write backend: {shell: {script: ...}}
    Instead of: code: write backend: {python: {code: ...}}
    Instead of: entry_point entrypoint file function handler module coroutine func: write backend: {python: {file:
        NAME.py, function: NAME}}
    Instead of: type: remove it, because every spec declares a tool
    Instead of: strict: write providers: {openai_chat: {strict: true}}
    Instead of: vars: write 'vars' in the project file toolc.yaml
    Instead of: steps: write backend: {composite: {strategy: sequential, steps: [...]}}
    Instead of: url: write backend: {http: {url: ...}}
    Instead of: required: a parameter is required unless it has a 'default' or 'optional: true'
    """

    name: str = field(metadata=keys.key(TOOL_NAME))
    """The name that the model uses: 1 to 64 of ``A-Z a-z 0-9 _ -`` and no digit or ``-`` first.

    Example: count_words
    Instead of: id
    """
    description: str = field(metadata=keys.key(keys.STRING, is_required=False))
    """What the tool does, when to use it and when not. For the model.

    Example: Count the words of one text file.
    Instead of: desc doc docs docstring help summary
    """
    parameters: Schema = field(metadata=keys.key(keys.Kind("parameters"), is_required=False))
    """The parameters: a schema for each name, or a full JSON Schema with ``type: object``.

    Example: {path: {type: string, description: "A file, e.g. notes.md"}}
    Instead of: inputSchema input_schema input inputs args arguments args_schema
    """
    backend: Backend | HostFunction = field(metadata=keys.key(keys.map_with(Backends, required=True)))
    """What a call does: exactly one backend.

    Example: {shell: {argv: [wc, -w]}}
    Instead of: command cmd run exec: write backend: {shell: {argv: [...]}}
    """
    label: str | None = None
    """The name that is shown to users.

    Example: Count words
    Instead of: title displayName display_name
    """
    annotations: Annotations = field(default_factory=Annotations)
    """Hints for clients, as defined by MCP.

    Example: {read_only: true}
    """
    aliases: tuple[str, ...] = field(default=(), metadata=keys.key(keys.list_of(TOOL_NAME)))
    """Former names of the tool, which still work.

    Example: [wc]
    """
    deprecated: str | None = None
    """Marks the tool as deprecated, and names a replacement.

    Example: use count_text
    """
    examples: tuple[JsonObject, ...] = field(default=(), metadata=keys.key(keys.list_of(keys.map_of(keys.JSON))))
    """Examples of valid arguments. They are validated by a build and shown to models.

    Example: [{path: notes.md}]
    """
    result_schema: Schema | None = field(default=None, metadata=keys.NO_KEY)
    providers: tuple[ProviderChoice, ...] = field(default=(), metadata=keys.key(keys.Kind("providers")))
    """Options for single providers.

    Example: {openai_chat: {strict: true}}
    """
    result: ResultSpec = field(default_factory=ResultSpec)
    """How the output is converted to a result.

    Example: {format: json, select: items}
    Instead of: outputSchema output_schema returns: write result: {schema: ...}
    """
    sandbox: SandboxSpec = field(default_factory=SandboxSpec)
    """What a call may access and use. By default: no network, no workspace, small limits, removed after the call.

    Example: {workspace: ro, limits: {timeout: 5s}}
    """
    retry: Retry | None = None
    """When to repeat a failed call. Requires ``annotations.idempotent: true``.

    Example: {kinds: [network], attempts: 5}
    """
    confirm: bool = False
    """Whether a user must confirm each call."""
    json_text: bool = field(default=True, metadata=keys.STORED_IF_SET)
    """Whether an argument may be the JSON text of its value. A policy decides."""
    caller: tuple[CallerParameter, ...] = field(default=(), metadata=keys.STORED_IF_SET)
    """The parameters with ``from``, which are not in ``parameters``."""
    version: str | None = None
    """The version of the tool, in quotes. For users.

    Example: "1.2"
    """
    owner: str | None = None
    """The person or team that maintains the tool.

    Example: "@example/data"
    """
    tags: tuple[str, ...] = ()
    """Tags by which tools can be selected.

    Example: [files]
    """
    tests: tuple[Test, ...] = ()
    """Calls that ``toolc test`` runs in the sandbox.

    Example: [{args: {path: notes.md}, expect: {text: "2 notes.md"}}]
    """

    @property
    def all_parameters(self) -> Schema:
        """The parameters of the backend: those that a caller sends, and those that the host fills in."""
        if not self.caller:
            return self.parameters
        value, filled = self.parameters.value, {each.name: each.schema for each in self.caller}
        required: list[JsonValue] = [*sorted({*self.parameters.required, *filled})]
        return Schema({**value, "properties": {**self.parameters.properties, **filled}, "required": required})


class SpecFile:
    """A spec file of toolc, which declares tools for language models: one, with the keys of a tool, or several."""

    toolc: ClassVar = keys.Key(keys.choice(FORMAT, is_fixed=True))
    """The version of the format, which identifies a file as a spec.

    Example: 1
    """
    tools: ClassVar = keys.Key(keys.list_of(keys.Kind("tool"), least=1), is_required=True)
    """Several tools.

    Example: [{name: count_words, description: Count the words of a file., backend: {shell: {argv: [wc, -w]}}}]
    """
    servers: ClassVar = keys.Key(keys.map_of(keys.map_at("mcp_backend.McpServer")))
    """MCP servers, by name, for the tools of this file with ``backend.mcp``.

    Example: {time: {command: [python3, -m, mcp_server_time], requirements: [mcp-server-time==2025.9.25]}}
    Instead of: mcpServers mcp_servers
    """
    defaults: ClassVar = keys.Key(keys.Kind("defaults"))
    """Default values of the tools of this file: maps are merged, lists are replaced.

    Example: {sandbox: {limits: {timeout: 20s}}}
    """
