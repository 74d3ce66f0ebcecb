"""The library: load a registry, lower it for a provider, run its tools, build specs.

With ``cli/`` and ``serve/`` the only place that knows both the compiler and the runtime.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Self, TypeAlias

from toolc.compiler.build_output import Built, render, write_output
from toolc.data.paths import packaged_path
from toolc.executor import Executor
from toolc.messages import find_provider
from toolc.model import argument_checks
from toolc.model.diagnostics import Diagnostics
from toolc.model.errors import UsageError
from toolc.model.events import (
    BatchEnd,
    BatchEvent,
    CallEvent,
    ToolConnect,
    ToolDenied,
    ToolEnd,
    ToolRetry,
    ToolStart,
    ToolUpdate,
)
from toolc.model.json_schema import JsonObject, JsonValue
from toolc.model.registry import RegisteredTool, RegistryFile, registry_from_json
from toolc.model.registry_file import parse, read_registry, registry_bytes
from toolc.model.result import Content, Image, Resource, Text, ToolResult
from toolc.model.spec.code_backends import HostFunction
from toolc.model.spec.tool import ToolSpec
from toolc.tools import Tools

if TYPE_CHECKING:
    from toolc.compiler.pipeline.compile import Compilation
    from toolc.functions.tool import ComposedTool, FunctionTool

__all__ = [
    "Executor",
    "Registry",
    "build",
    "event_to_json",
    "result_to_json",
    "split_target",
    "write_build",
]

Addable: TypeAlias = "RegisteredTool | FunctionTool | ComposedTool | Registry | Callable[..., object]"
"""What ``Registry.add`` takes; a plain function is made a tool as ``@toolc.tool`` makes it."""


class Registry:
    """Tools by name: compiled ones, and functions of this program. Any number of threads may use and change it.

    It iterates over its tools' specs, sorted by name; ``name in registry`` and ``len(registry)`` work.
    ``diagnostics`` holds what the compiler found if the registry was made from specs (warnings, for it has no
    errors); it is empty otherwise. ``parts`` are tools that these call and that are called by nobody else.
    """

    def __init__(
        self,
        file: RegistryFile | None = None,
        diagnostics: Diagnostics | None = None,
        parts: Tools | None = None,
    ) -> None:
        argument_checks.optional("file", file, RegistryFile, "a RegistryFile")
        # Changed by being replaced as a whole, so that whoever reads needs no lock.
        self._tools = Tools().added(file.tools if file else ())
        self.parts = parts or Tools()
        self._toolsets = {name: tuple(members) for name, members in (file.toolsets if file else {}).items()}
        self._changing = Lock()
        self.diagnostics = diagnostics or Diagnostics()

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a ``registry.json``, or compile a spec file or a folder of them; ``PATH#NAME`` takes one tool.

        Raises ``UsageError`` (nothing there, no such tool), ``SpecError`` (specs with errors) and
        ``RegistryError`` (a registry that is damaged, or does not match its own digests).
        """
        source, name = split_target(str(argument_checks.path("path", path)))
        if source.suffix == ".json":
            registry = cls(read_registry(source))
        else:
            from toolc.compiler.pipeline.compile import compile_specs  # a built registry needs no compiler

            registry = cls.compiled(compile_specs([source]))
        return registry if name is None else registry.only(name)

    @classmethod
    def compiled(cls, compilation: Compilation) -> Self:
        """What a compilation would build. Raises ``SpecError`` where it found errors."""
        # Through its stored form, so that a spec that was never built runs as it would once built.
        stored = registry_from_json(parse(registry_bytes(compilation.registry())))
        return cls(stored, compilation.diagnostics)

    @classmethod
    def builtin(cls, preset: str = "all") -> Self:
        """The tools that come with toolc, each in its sandbox as any.

        ``preset`` is ``all``, ``none``, or a toolset of them: ``coding`` (commands, and files to read and write)
        or ``readonly`` (files to read). Raises ``UsageError`` for another.
        """
        if preset == "none":
            return cls()
        registry = cls.load(packaged_path("specs"))
        return registry if preset == "all" else registry.toolset(preset)

    def add(self, *tools: Addable) -> None:
        """Add tools, or all of a registry with its toolsets; either all are added or none.

        Raises ``UsageError`` where a name or an alias is taken, or a function cannot be a tool, and ``SpecError``
        where a composite or a sub-agent of this program calls what is not there, or what does not fit.
        """
        added = [each for tool in tools for each in _registered(tool)]
        toolsets = [each.toolsets for each in tools if isinstance(each, Registry)]
        parts = [each.parts for each in tools if isinstance(each, Registry)]
        with self._changing:
            together, called = self._tools.added(added), self.parts
            for part in parts:
                called = called.joined(part)
            _check_calls(tools, called.joined(together))
            self._tools, self.parts = together, called
            for each in toolsets:
                self._toolsets = _joined(self._toolsets, each)

    def remove(self, name: str) -> None:
        """Remove the tool of this name or alias; calls under way go on. Raises ``UsageError``."""
        with self._changing:
            self._tools = self._tools.without(name)

    @property
    def names(self) -> tuple[str, ...]:
        """The tools' names, sorted."""
        return tuple(self._tools.by_name)

    @property
    def toolsets(self) -> dict[str, tuple[str, ...]]:
        """What ``toolset`` knows, sorted: the toolsets of the specs' project files, and their tools' names."""
        return dict(sorted(self._toolsets.items()))

    def get(self, name: str) -> ToolSpec | None:
        """The tool of this name or alias, or None."""
        found = self._tools.get(name)
        return found.spec if found else None

    def registered(self, name: str) -> RegisteredTool:
        """The tool of this name or alias with its digests. Raises ``UsageError`` that names close ones."""
        return self._tools.find(name)

    def called(self, name: str) -> RegisteredTool:
        """The tool that one of these tools calls by this name or alias, whether or not it is one of these.

        Raises ``UsageError``.
        """
        return self.parts.get(name) or self._tools.find(name)

    def only(self, *names: str) -> Self:
        """A registry of these tools, by name or alias, with what they call as ``parts``. Raises ``UsageError``."""
        tools = self._tools
        chosen = {found.spec.name: found for found in map(tools.find, names)}
        parts = self.parts.joined(tools).parts(chosen.values())
        return type(self)(RegistryFile(tuple(chosen.values())), self.diagnostics, parts=parts)

    def toolset(self, name: str) -> Self:
        """A registry of those tools here that a project file's ``toolsets`` names so. Raises ``UsageError``."""
        if not self._toolsets:
            raise UsageError(f"there is no toolset {name!r:.60}; there are none: a project file names them")
        argument_checks.one_of("toolset", name, self.toolsets)
        return self.only(*(member for member in self._toolsets[name] if member in self))

    def definitions(self, provider: str) -> list[JsonValue]:
        """The value of that provider's SDK's ``tools`` argument. Raises ``UsageError`` for an unknown one."""
        return deepcopy(find_provider(provider).lower(tuple(self)).tools)  # they share schemas with the tools

    def schema(self, name: str) -> JsonObject:
        """The JSON Schema of a tool's parameters, the caller's own. Raises ``UsageError``."""
        return deepcopy(self.registered(name).spec.parameters.value)

    def execute(self, name: str, arguments: JsonObject) -> ToolResult:
        """Call one tool, which has no workspace, and wait for its result; ``Executor`` can do more.

        Raises what its ``run`` raises.
        """
        with Executor(self) as executor:
            return executor.run(name, arguments)

    def __contains__(self, name: object) -> bool:
        return self._tools.get(name) is not None

    def __iter__(self) -> Iterator[ToolSpec]:
        return (tool.spec for tool in self._tools.by_name.values())

    def __len__(self) -> int:
        return len(self._tools.by_name)

    def __repr__(self) -> str:
        shown = map(_shown, self._tools.by_name.values())
        return f"<Registry: {', '.join(shown) or 'no tools'}>"


def _registered(tool: Addable) -> Iterable[RegisteredTool]:
    if isinstance(tool, RegisteredTool):
        return (tool,)
    if isinstance(tool, Registry):
        return tuple(map(tool.registered, tool.names))
    from toolc.functions.define import Definition  # start-up time: most registries have no functions
    from toolc.functions.define import tool as tool_of
    from toolc.functions.tool import ComposedTool, FunctionTool

    if isinstance(tool, ComposedTool):
        return (tool.registered(),)
    if isinstance(tool, Definition):
        raise UsageError(
            f"the tool {tool.name!r} is not made yet; end its definition with .handler(...), .composite(...) or "
            ".agent(...)"
        )
    if not callable(tool):
        raise UsageError(f"a {type(tool).__name__} is no tool; add a function, a tool, or a registry")
    return ((tool if isinstance(tool, FunctionTool) else tool_of(tool)).registered(),)


def _check_calls(added: Sequence[Addable], tools: Tools) -> None:
    """Raise ``SpecError`` where a composite or a sub-agent of this program cannot do its work with ``tools``."""
    if all(isinstance(tool, RegisteredTool | Registry) for tool in added):
        return
    from toolc.functions.tool import ComposedTool  # start-up time: most registries have none

    if composed := [tool for tool in added if isinstance(tool, ComposedTool)]:
        from toolc.functions.composed import check_calls  # which needs the compiler, and functions do not

        check_calls(composed, [tool.spec for tool in tools.by_name.values()])


def _joined(first: Mapping[str, Sequence[str]], second: Mapping[str, Sequence[str]]) -> dict[str, tuple[str, ...]]:
    """Toolsets of two registries: one that both have has the tools of both."""
    return {name: (*first.get(name, ()), *second.get(name, ())) for name in (*first, *second)}


def _shown(tool: RegisteredTool) -> str:
    if isinstance(tool.spec.backend, HostFunction):
        return f"{tool.spec.name} (in this process)"
    return f"{tool.spec.name} (of this program)" if tool.is_of_this_program else tool.spec.name


def build(paths: str | Path | Sequence[str | Path], out: str | Path) -> Built:
    """Compile specs and write the registry and every provider's definitions into the folder ``out``.

    Where anything is wrong nothing is written, and what ``out`` held stays whole. Raises ``SpecError``
    and ``UsageError``.
    """
    from toolc.compiler.pipeline.compile import compile_specs  # only a build needs the compiler

    several = (paths,) if isinstance(paths, str | Path) else argument_checks.sequence("paths", paths, "paths")
    if not several:
        raise UsageError("there is nothing to build; name a spec file or a folder of specs")
    where = argument_checks.path("out", out)
    return write_build(compile_specs([argument_checks.path("paths", path) for path in several]), where)


def write_build(compilation: Compilation, out: str | Path) -> Built:
    """Write what ``build`` writes, of specs that are compiled. Raises ``SpecError`` and ``UsageError``."""
    from toolc.compiler.pipeline.compile import gc_paused  # only a build needs the compiler

    compilation.refuse_errors()
    with gc_paused():
        names = [tool.name for tool in compilation.tools]
        rendered = render(compilation.tools, compilation.tools)
        return write_output(rendered, names, compilation.toolsets, out)


def result_to_json(result: ToolResult) -> JsonObject:
    """A result as JSON, bytes in base64. ``structured`` is there only where the tool gave data."""
    argument_checks.of_type("result", result, ToolResult, "a toolc.ToolResult")
    error: JsonValue = {"kind": result.error.kind, "message": result.error.message} if result.error else None
    value: JsonObject = {"content": [_content_to_json(block) for block in result.content]}
    if result.structured is not None:
        value["structured"] = result.structured[0]
    return value | {"details": result.details, "is_error": result.is_error, "error": error}


def event_to_json(event: BatchEvent) -> JsonObject:
    """An event as JSON: ``event`` is ``start``, ``update``, ``connect``, ``retry``, ``denied`` or ``end``.

    The end holds the result. ``parent_call_id`` is there for a call that is part of another one. Of a batch the
    last is ``batch_end`` and holds all results.
    """
    if isinstance(event, BatchEnd):
        return {"event": "batch_end", "results": [result_to_json(result) for result in event.results]}
    argument_checks.of_type("event", event, CallEvent, "an event of toolc")
    about: JsonObject = {"name": event.name, "call_id": event.call_id}
    if event.parent_call_id is not None:
        about["parent_call_id"] = event.parent_call_id
    match event:
        case ToolStart():
            return {"event": "start"} | about
        case ToolUpdate():
            return {"event": "update"} | about | _update_to_json(event)
        case ToolConnect():
            return {"event": "connect"} | about | event.attempt.to_json()
        case ToolRetry():
            error: JsonObject = {"kind": event.error.kind, "message": event.error.message}
            return {"event": "retry"} | about | {"attempt": event.attempt, "error": error, "wait_ms": event.wait_ms}
        case ToolDenied():
            return {"event": "denied"} | about | {"reason": event.reason}
        case ToolEnd():
            return {"event": "end"} | about | {"result": result_to_json(event.result)}


def _update_to_json(update: ToolUpdate) -> JsonObject:
    """What an update tells; ``content`` is there only where it has more than text."""
    told: JsonObject = {"stream": update.stream, "text": update.text}
    if update.stream is None:
        told = {"percent": update.percent, "message": update.message}
    if update.blocks:
        told["content"] = [_content_to_json(block) for block in update.content]
    return told


def _content_to_json(block: Content) -> JsonObject:
    if isinstance(block, Text):
        return {"type": "text", "text": block.text}
    if isinstance(block, Resource):
        data = base64.b64encode(block.data).decode("ascii")
        return {"type": "resource", "name": block.name, "mime_type": block.mime_type, "data": data}
    return {
        "type": "image" if isinstance(block, Image) else "audio",
        "mime_type": block.mime_type,
        "data": base64.b64encode(block.data).decode("ascii"),
    }


def split_target(target: str) -> tuple[Path, str | None]:
    """``PATH#NAME`` in two; a path that exists with a ``#`` in it is a path."""
    source, separator, name = target.rpartition("#")
    if not separator or Path(target).exists():
        return Path(target), None
    return Path(source), name
