"""Backends but HTTP's, composites and agents, which have modules of their own (``toolc.model.spec.http_backend``
and so on).

See ``toolc.model.spec.tool`` for the rules. What is here is what a spec says, read and checked; how it is run is
the business
of ``toolc.backends``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal, TypeAlias

from toolc.model.json_schema import JsonValue
from toolc.model.template import Template

__all__ = [
    "Argv",
    "ErrorKind",
    "ExitError",
    "File",
    "HostFunction",
    "Load",
    "PluginBackend",
    "PythonBackend",
    "Script",
    "ShellBackend",
    "WhenGroup",
]

ErrorKind: TypeAlias = Literal[
    "invalid_args", "not_found", "denied", "cancelled", "timeout", "out_of_memory", "output_limit",
    "exit_status", "network", "authentication", "rate_limit", "serialization", "file", "execution",
]  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    """A file that travels with a tool: ``path`` relative to the spec's folder, and text or base64, never both."""

    path: str
    text: str | None = None
    base64: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Argv:
    """``argv:``: each element becomes one argument, an array that stands alone one per item."""

    tag: ClassVar[Literal["argv"]] = "argv"
    elements: tuple[Template | WhenGroup, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class WhenGroup:
    """``{when: NAME, argv: [...]}``: kept only if the argument is present and neither false nor empty."""

    tag: ClassVar[Literal["group"]] = "group"
    when: str
    argv: tuple[Template, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """``script:`` or ``file:``: text run by an interpreter, parameters as ``ARG_<name>`` variables; no template."""

    tag: ClassVar[Literal["script"]] = "script"
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

    tag: ClassVar[Literal["shell"]] = "shell"
    command: Argv | Script
    stdin: Template | None = None
    success_exit_codes: tuple[int, ...] | None = (0,)
    errors: tuple[ExitError, ...] = ()
    allow_dash: tuple[str, ...] = ()
    progress: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PythonBackend:
    """``backend.python``: ``function`` of the file ``entry``, which is one of ``files``.

    Inline ``code:`` is a file of its own, named after the tool. ``requirements`` are pinned, as ``name==1.2.3``.
    """

    tag: ClassVar[Literal["python"]] = "python"
    entry: str
    function: str
    files: tuple[File, ...]
    requirements: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginBackend:
    """``backend.plugin``: a process that speaks newline-delimited JSON.

    ``tool`` names one of several that the process offers; ``files`` travel with the tool, as a Python tool's do.
    """

    tag: ClassVar[Literal["plugin"]] = "plugin"
    command: tuple[str, ...]
    tool: str | None = None
    files: tuple[File, ...] = ()


Load: TypeAlias = Callable[[JsonValue], object]
"""Makes of a validated argument what the function's type hint says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostFunction:
    """A function that runs in the host's own process, with all its rights and no sandbox.

    ``loads`` are for the arguments that are not passed on as they are. ``context`` is the name of the parameter
    that gets the call's context, None where there is none. It is in no format: neither a spec nor a registry
    file can say it.
    """

    tag: ClassVar[Literal["function"]] = "function"
    function: Callable[..., object]
    loads: Mapping[str, Load]
    context: str | None = None
