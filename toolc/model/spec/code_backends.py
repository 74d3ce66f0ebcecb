"""The backends that run code: ``backend.shell``, ``backend.python``, ``backend.plugin``, and host functions.

See ``toolc.model.spec.tool`` for the rules. These types only represent the declarations in a spec. ``toolc.backends``
runs them. The other backends are in ``toolc.model.spec.http_backend`` and ``toolc.model.spec.composed_backends``.
"""

from collections.abc import Callable, Mapping
from typing import ClassVar, Final, Literal, TypeAlias, get_args

from toolc.dataclass import dataclass, field
from toolc.model.json_schema import JsonValue
from toolc.model.spec import keys
from toolc.model.template import Template

ErrorKind: TypeAlias = Literal[
    "invalid_args", "not_found", "denied", "cancelled", "timeout", "out_of_memory", "output_limit",
    "exit_status", "network", "authentication", "rate_limit", "serialization", "file", "conflict", "execution",
]  # fmt: skip

ERROR_KIND: Final = keys.choice(*get_args(ErrorKind))
"""The kind of keys that hold an ``ErrorKind``."""


ATTEMPTS: Final = keys.integer(2, 10)
"""With ten attempts and the default wait, the last one starts after eight minutes."""


class Public:
    """A value that is meant to be public, such as a publishable key."""

    public: ClassVar = keys.Key(keys.TEXT, is_required=True)
    """The value, a constant.

    Example: pk_live_123
    """
    reason: ClassVar = keys.Key(keys.TEXT, is_required=True)
    """Why the value may be public, for reviewers.

    Example: a publishable key, which every visitor of the site sees
    """


CREDENTIAL: Final = keys.either(keys.STRING, keys.map_with(Public, required=True))
"""A template that may use secrets, or a public value."""

FORM_FIELD: Final = keys.either(keys.FIELD, keys.map_with(Public, required=True))
"""A template or another scalar, or a public value. It is omitted if it uses an argument that is absent."""

Load: TypeAlias = Callable[[JsonValue], object]
"""Converts a validated argument to the type in the function's type hint."""


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    """A file of a tool: ``path`` relative to the folder of the spec, and either text or base64."""

    path: str
    text: str | None = None
    base64: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Argv:
    """``argv:``. Each element becomes one argument; an element that is only an array, one per item."""

    tag: ClassVar[Literal["argv"]] = "argv"
    elements: "tuple[Template | WhenGroup, ...]"


@dataclass(frozen=True, slots=True, kw_only=True)
class WhenGroup:
    """``{when: NAME, argv: [...]}``: arguments that are passed only if NAME is present and neither false nor empty."""

    tag: ClassVar[Literal["group"]] = "group"
    when: str
    """The name of the parameter.

    Example: verbose
    """
    argv: tuple[Template, ...]
    """The arguments, templates.

    Example: [-v]
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """``script:`` or ``file:``: code for an interpreter, not a template. Parameters are ``ARG_<name>`` variables."""

    tag: ClassVar[Literal["script"]] = "script"
    text: str
    interpreter: tuple[str, ...] = ("/bin/sh", "-eu")


@dataclass(frozen=True, slots=True, kw_only=True)
class ExitError:
    """One entry of ``errors:``: the kind of error for an exit status."""

    status: int
    kind: ErrorKind


class BackendTraits:
    """The properties of a kind of backend that other packages use. Each kind overrides what differs."""

    __slots__ = ()
    lifetimes: ClassVar[frozenset[str]] = frozenset({"call"})
    """The values of ``sandbox.lifetime`` that calls can have."""
    request_route: ClassVar[tuple[str, ...]] = ()
    """Where a spec has the keys of ``request``."""

    @property
    def runs_programs(self) -> bool:
        """Whether a call runs programs of the tool, in a sandbox that they may use in any way."""
        return False

    @property
    def only_calls(self) -> bool:
        """Whether a call only calls tools, a model or a server, so that the tool has no sandbox of its own."""
        return False

    @property
    def request(self) -> None:
        """The ``HttpBackend`` that has the requests of a call which toolc itself makes, if a kind has such requests."""
        return

    @property
    def programs(self) -> tuple[File, ...]:
        """The files of the tool that run. A review shows their changes."""
        return ()

    @property
    def packages(self) -> tuple[str, ...]:
        """The packages that are installed for the tool, with their versions."""
        return ()

    @property
    def urls(self) -> tuple[object, ...]:
        """What toolc requests for a call: the hosts of each ``Url`` may be reached without an entry in a list."""
        return ()

    @property
    def calls(self) -> tuple[tuple[str, str], ...]:
        """The tools that a call may call, each with the name of the step that does it."""
        return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ShellBackend(BackendTraits):
    """``backend.shell``: a program, or a script with parameters as variables.

    ``success_exit_codes`` is None for ``any``.

    Instead of: args cmd code command commands entrypoint exec run sh: write argv: [...] for one program, or script: ...
        for shell code
    """

    tag: ClassVar[Literal["shell"]] = "shell"
    runs_programs: ClassVar = True
    lifetimes: ClassVar = frozenset({"call", "fork", "session"})
    one_of: ClassVar = ("argv", "script", "file")
    command: Argv | Script = field(metadata=keys.NO_KEY)
    argv: ClassVar = keys.Key(keys.list_of(keys.either(keys.STRING, keys.map_with(WhenGroup, required=True)), least=1))
    """The program and its arguments, without a shell. Each item is one template and always one argument.

    Example: [wc, -l, "{{ path }}"]
    """
    script: ClassVar = keys.Key(keys.TEXT)
    """A script. It is not a template: parameters are the variables ``ARG_<name>``. Put them in quotes.

    Example: wc -l "$ARG_path"
    """
    file: ClassVar = keys.Key(keys.TEXT)
    """The file of a script, relative to the folder of the spec.

    Example: count.sh
    """
    interpreter: ClassVar = keys.Key(
        keys.list_of(keys.TEXT, least=1), excludes={"argv": "name the program as the first item of 'argv'"}
    )
    """The program that runs ``script`` or ``file``. Without it: ``/bin/sh -eu``.

    Example: [bash, -euo, pipefail]
    """
    stdin: Template | None = None
    """The input of the command, a template.

    Example: "{{ text }}"
    """
    success_exit_codes: tuple[int, ...] | None = field(
        default=(0,), metadata=keys.key(keys.either(keys.list_of(keys.integer(0, 255), least=1), keys.choice("any")))
    )
    """The exit codes that mean success: a list, or ``any``.

    Example: [0, 1]
    """
    errors: tuple[ExitError, ...] = field(default=(), metadata=keys.key(keys.map_of(ERROR_KIND, "^[1-9][0-9]{0,2}$")))
    """The kind of error for an exit status.

    Example: {"2": invalid_args}
    """
    allow_dash: tuple[str, ...] = field(default=(), metadata=keys.key(is_set=True))
    """Parameters whose value may start with ``-`` without a ``--`` before it.

    Example: [query]
    """
    progress: bool = False
    """Whether lines like ``::progress 40 text`` on stderr report progress."""
    runs_caller_code: bool = field(default=False, metadata=keys.key(stored_if_set=True))
    """Whether the command runs text from an argument as code. A review shows it as a high risk."""

    @property
    def programs(self) -> tuple[File, ...]:
        """The script."""
        return (File(path="script", text=self.command.text),) if isinstance(self.command, Script) else ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PythonBackend(BackendTraits):
    """``backend.python``: a Python function, called with the arguments as keywords.

    ``entry`` is one of ``files``. Inline ``code:`` becomes a file named after the tool. ``requirements`` are pinned,
    as ``name==1.2.3``.

    Instead of: argv body command inline script source: write code: ... with a function, or file: NAME.py
    Instead of: filename module path: write file: NAME.py
    Instead of: entry_point entrypoint handler: write file: NAME.py, and function: NAME
    Instead of: dependencies packages pip: write requirements: [...]
    """

    tag: ClassVar[Literal["python"]] = "python"
    runs_programs: ClassVar = True
    lifetimes: ClassVar = frozenset({"call", "fork", "session"})
    one_of: ClassVar = ("file", "code")
    entry: str = field(metadata=keys.NO_KEY)
    file: ClassVar = keys.Key(keys.TEXT)
    """The file with the function, relative to the folder of the spec.

    Example: count.py
    """
    code: ClassVar = keys.Key(keys.TEXT)
    """The code with the function. It is not a template.

    Example: "def double(number): return 2 * number"
    """
    function: str = field(metadata=keys.key(keys.TEXT, is_required=False))
    """The name of the function. Without it: the name of the tool.

    Example: count_words
    """
    files: tuple[File, ...] = field(metadata=keys.key(keys.list_of(keys.TEXT), is_required=False))
    """Other files that the function needs: patterns of paths relative to the folder of the spec.

    Example: ["data/**/*.json"]
    """
    requirements: tuple[str, ...] = ()
    """Packages with exact versions, installed from wheels. If one has ``--hash=sha256:...``, all must.

    Example: [requests==2.32.3]
    """
    preload: tuple[str, ...] = field(default=(), metadata=keys.key(stored_if_set=True))
    """Modules of the standard library or of ``requirements`` that are imported before the call, in this order.

    Example: [numpy.linalg]
    """

    @property
    def programs(self) -> tuple[File, ...]:
        """All files: a function can import them."""
        return self.files

    @property
    def packages(self) -> tuple[str, ...]:
        """The requirements."""
        return self.requirements


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginBackend(BackendTraits):
    """``backend.plugin``: a process that reads and writes newline-delimited JSON.

    ``files`` are part of the tool, as for a Python tool.
    """

    tag: ClassVar[Literal["plugin"]] = "plugin"
    runs_programs: ClassVar = True
    lifetimes: ClassVar = frozenset({"call", "session"})
    command: tuple[str, ...] = field(metadata=keys.key(keys.list_of(keys.TEXT, least=1)))
    """The program and its arguments. They are not templates.

    Example: [python3, plugin.py]
    """
    tool: str | None = None
    """The name of the tool in the process, if it has several.

    Example: query
    """
    files: tuple[File, ...] = field(default=(), metadata=keys.key(keys.list_of(keys.TEXT)))
    """Files that the process needs: patterns of paths relative to the folder of the spec.

    Example: [plugin.py]
    """

    @property
    def programs(self) -> tuple[File, ...]:
        """All files."""
        return self.files


@dataclass(frozen=True, slots=True, kw_only=True)
class HostFunction(BackendTraits):
    """A function that runs in the host process, with all its privileges and without a sandbox.

    ``loads`` are for the arguments that must be converted. ``context`` is the name of the parameter that receives
    the context of the call, or None. Specs and registry files cannot contain a host function.
    """

    tag: ClassVar[Literal["function"]] = "function"
    function: Callable[..., object]
    loads: Mapping[str, Load]
    context: str | None = None
