"""The backends that run code: ``backend.shell``, ``backend.python``, ``backend.plugin``, and host functions.

See ``toolc.model.spec.tool`` for the rules. These types only represent what a spec declares; ``toolc.backends``
runs it. The other backends are in ``toolc.model.spec.http_backend`` and ``toolc.model.spec.composed_backends``.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Literal, TypeAlias

from toolc.model.json_schema import JsonValue
from toolc.model.template import Template

ErrorKind: TypeAlias = Literal[
    "invalid_args", "not_found", "denied", "cancelled", "timeout", "out_of_memory", "output_limit",
    "exit_status", "network", "authentication", "rate_limit", "serialization", "file", "conflict", "execution",
]  # fmt: skip

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
    argv: tuple[Template, ...]


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


@dataclass(frozen=True, slots=True, kw_only=True)
class ShellBackend:
    """``backend.shell``. ``success_exit_codes`` is None for ``any``.

    ``runs_caller_code`` declares that the command runs text from an argument as code.
    """

    tag: ClassVar[Literal["shell"]] = "shell"
    command: Argv | Script
    stdin: Template | None = None
    success_exit_codes: tuple[int, ...] | None = (0,)
    errors: tuple[ExitError, ...] = ()
    allow_dash: tuple[str, ...] = ()
    progress: bool = False
    runs_caller_code: bool = field(default=False, metadata={"stored_if_set": True})


@dataclass(frozen=True, slots=True, kw_only=True)
class PythonBackend:
    """``backend.python``: ``function`` of the file ``entry``, which is one of ``files``.

    Inline ``code:`` becomes a file named after the tool. ``requirements`` are pinned, as ``name==1.2.3``. ``preload``
    are modules that are imported before the call, in this order.
    """

    tag: ClassVar[Literal["python"]] = "python"
    entry: str
    function: str
    files: tuple[File, ...]
    requirements: tuple[str, ...] = ()
    preload: tuple[str, ...] = field(default=(), metadata={"stored_if_set": True})


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginBackend:
    """``backend.plugin``: a process that reads and writes newline-delimited JSON.

    ``tool`` names one of several tools of the process. ``files`` are part of the tool, as for a Python tool.
    """

    tag: ClassVar[Literal["plugin"]] = "plugin"
    command: tuple[str, ...]
    tool: str | None = None
    files: tuple[File, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class HostFunction:
    """A function that runs in the host process, with all its privileges and without a sandbox.

    ``loads`` are for the arguments that must be converted. ``context`` is the name of the parameter that receives
    the context of the call, or None. Specs and registry files cannot contain a host function.
    """

    tag: ClassVar[Literal["function"]] = "function"
    function: Callable[..., object]
    loads: Mapping[str, Load]
    context: str | None = None
