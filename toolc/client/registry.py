"""Load, combine and query registries of tools."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Self, TypeAlias

from toolc.client.build import compile_paths, split_target
from toolc.client.executor import Executor
from toolc.data.paths import packaged_path
from toolc.dataclass import dataclass, field
from toolc.model import call_graph
from toolc.model.diagnostics import Diagnostics
from toolc.model.errors import UsageError
from toolc.model.json_schema import JsonObject, JsonValue
from toolc.model.names import close_match
from toolc.model.registry import RegisteredTool, RegistryFile, registry_from_json
from toolc.model.registry_io import parse, read_registry, registry_bytes
from toolc.model.result import ToolResult
from toolc.model.spec.code_backends import HostFunction
from toolc.model.spec.tool import ToolSpec
from toolc.runtime import argument_checks

if TYPE_CHECKING:
    from toolc.compiler.pipeline.compile import Compilation
    from toolc.functions.tools import ComposedTool, FunctionTool


@dataclass(frozen=True, slots=True)
class ToolCollection:
    """An immutable snapshot of a registry. ``by_name`` is sorted."""

    by_name: Mapping[str, RegisteredTool] = field(default_factory=dict)
    by_alias: Mapping[str, RegisteredTool] = field(default_factory=dict)

    def added(self, tools: Iterable[RegisteredTool]) -> ToolCollection:
        """Return this collection with ``tools`` added. Raises ``UsageError`` if a name or an alias is taken."""
        names, aliases = dict(self.by_name), dict(self.by_alias)
        for tool in tools:
            for name in (tool.spec.name, *tool.spec.aliases):
                if taken := names.get(name) or aliases.get(name):
                    kind = "name" if name == tool.spec.name else f"alias {name!r}"
                    raise UsageError(
                        f"cannot add the tool {tool.spec.name!r}, because the tool {taken.spec.name!r} "
                        f"already uses its {kind}; remove that tool first, or rename this one"
                    )
            names[tool.spec.name] = tool
            aliases |= dict.fromkeys(tool.spec.aliases, tool)
        return ToolCollection({name: names[name] for name in sorted(names)}, aliases)

    def without(self, name: str) -> ToolCollection:
        """Return this collection without the tool with this name or alias. Raises ``UsageError``."""
        removed = self.find(name)
        return ToolCollection(
            {each: tool for each, tool in self.by_name.items() if tool is not removed},
            {each: tool for each, tool in self.by_alias.items() if tool is not removed},
        )

    def joined(self, others: ToolCollection) -> ToolCollection:
        """Return this collection with those tools of ``others`` whose names it does not contain yet."""
        names = {**others.by_name, **self.by_name}
        aliases = {**others.by_alias, **self.by_alias}
        return ToolCollection({name: names[name] for name in sorted(names)}, aliases)

    def parts(self, callers: Iterable[RegisteredTool]) -> ToolCollection:
        """Return the tools of this collection that ``callers`` may call, directly or indirectly."""
        specs = call_graph.tools_by_name(tool.spec for tool in self.by_name.values())
        reachable = {name for caller in callers for name in call_graph.reachable_tools(caller.spec, specs)}
        return ToolCollection().added(tool for name, tool in self.by_name.items() if name in reachable)

    def get(self, name: object) -> RegisteredTool | None:
        """Return the tool with this name or alias, or None."""
        return self.by_name.get(str(name)) or self.by_alias.get(str(name))

    def find(self, name: str) -> RegisteredTool:
        """Return the tool with this name or alias. Raises ``UsageError`` with a similar name, or with all names."""
        tool = self.get(name)
        if tool is None:
            close = close_match(str(name), self.by_name)
            names = f"the tools are: {', '.join(self.by_name)}" if self.by_name else "the registry is empty"
            hint = f"did you mean {close!r}?" if close else names
            raise UsageError(f"there is no tool {name!r:.82}; {hint}")
        return tool


Addable: TypeAlias = "RegisteredTool | FunctionTool | ComposedTool | Registry | Callable[..., object]"
"""The types that ``Registry.add`` accepts. A plain function becomes a tool as with ``@toolc.tool``."""


class Registry:
    """A set of tools by name: compiled tools, and functions of this program. Safe to use from several threads.

    Iterating yields the specs of the tools, sorted by name. ``name in registry`` and ``len(registry)`` also work.
    For a registry made from specs, ``diagnostics`` contains the compiler's warnings. ``parts`` are tools that only
    other tools call.
    """

    def __init__(
        self,
        file: RegistryFile | None = None,
        diagnostics: Diagnostics | None = None,
        parts: ToolCollection | None = None,
    ) -> None:
        argument_checks.optional("file", file, RegistryFile, "a RegistryFile")
        # Replaced, never modified, so reading needs no lock.
        self._tools = ToolCollection().added(file.tools if file else ())
        self.parts = parts or ToolCollection()
        self._toolsets = {name: tuple(members) for name, members in (file.toolsets if file else {}).items()}
        self._changing = Lock()
        self.diagnostics = diagnostics or Diagnostics()

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a ``registry.json``, or compile a spec file or a folder of specs. ``PATH#NAME`` selects one tool.

        Raises ``UsageError`` if the file or tool does not exist, ``SpecError`` if the specs have errors, and
        ``RegistryError`` if the registry is damaged or does not match its digests.
        """
        source, name = split_target(str(argument_checks.path("path", path)))
        is_built = source.suffix == ".json"
        registry = cls(read_registry(source)) if is_built else cls.compiled(compile_paths([source]))
        return registry if name is None else registry.only(name)

    @classmethod
    def compiled(cls, compilation: Compilation) -> Self:
        """Return the registry that a build would write for this compilation. Raises ``SpecError`` if it has errors."""
        # Use the stored form, so that a spec runs the same way before and after a build.
        stored = registry_from_json(parse(registry_bytes(compilation.registry())))
        return cls(stored.with_lifetimes(compilation.lifetimes), compilation.diagnostics)

    @classmethod
    def builtin(cls, preset: str = "all") -> Self:
        """Return the tools included in toolc. They run in sandboxes like all other tools.

        ``preset`` is ``all``, ``none``, or a toolset: ``coding`` (commands and files), ``data`` (databases, JSON,
        numbers), ``readonly`` (changes nothing, no network) or ``research`` (the web, files, memory). Raises
        ``UsageError`` for any other name.
        """
        if preset == "none":
            return cls()
        registry = cls.load(packaged_path("specs"))
        if preset == "all":
            return registry
        if preset in registry and preset not in registry.toolsets:
            raise UsageError(
                f"{preset!r} is a tool, not a toolset; select it in the toolset 'all': "
                f"Registry.builtin().only({preset!r}), or on the command line: {preset} --builtin all"
            )
        argument_checks.one_of("toolset", preset, (*registry.toolsets, "none"))
        return registry.toolset(preset)

    def add(self, *tools: Addable) -> None:
        """Add tools, or all tools and toolsets of a registry. If one cannot be added, nothing changes.

        Raises ``UsageError`` if a name or an alias is taken, or a function cannot be a tool. Raises ``SpecError`` if a
        composite or a sub-agent of this program calls a tool that is missing or has incompatible parameters.
        """
        added = [each for tool in tools for each in _registered(tool)]
        toolsets = [each.toolsets for each in tools if isinstance(each, Registry)]
        parts = [each.parts for each in tools if isinstance(each, Registry)]
        with self._changing:
            together, called = self._tools.added(added), self.parts
            for part in parts:
                called = called.joined(part)
            if not all(isinstance(tool, RegisteredTool | Registry) for tool in tools):
                from toolc.functions.composed import check_calls  # lazy: as in _registered

                check_calls(tools, [tool.spec for tool in called.joined(together).by_name.values()])
            self._tools, self.parts = together, called
            for each in toolsets:
                self._toolsets = _joined(self._toolsets, each)

    def remove(self, name: str) -> None:
        """Remove the tool with this name or alias. Running calls continue. Raises ``UsageError``."""
        with self._changing:
            self._tools = self._tools.without(name)

    @property
    def names(self) -> tuple[str, ...]:
        """The tools' names, sorted."""
        return tuple(self._tools.by_name)

    @property
    def toolsets(self) -> dict[str, tuple[str, ...]]:
        """The toolsets that the project files define, sorted, each with the names of its tools."""
        return dict(sorted(self._toolsets.items()))

    def get(self, name: str) -> ToolSpec | None:
        """Return the tool with this name or alias, or None."""
        tool = self._tools.get(name)
        return tool.spec if tool else None

    def registered(self, name: str) -> RegisteredTool:
        """Return the tool with this name or alias, with its digests. Raises ``UsageError``."""
        return self._tools.find(name)

    def called(self, name: str) -> RegisteredTool:
        """Return the tool or part that other tools call by this name or alias. Raises ``UsageError``."""
        return self.parts.get(name) or self._tools.find(name)

    def only(self, *names: str) -> Self:
        """Return a registry of the tools with these names or aliases. Tools that they call become ``parts``.

        Raises ``UsageError``.
        """
        tools = self._tools
        chosen = {tool.spec.name: tool for tool in map(tools.find, names)}
        parts = self.parts.joined(tools).parts(chosen.values())
        return type(self)(RegistryFile(tuple(chosen.values())), self.diagnostics, parts=parts)

    def toolset(self, name: str) -> Self:
        """Return a registry of the tools of a toolset, which a project file defines. Raises ``UsageError``."""
        if not self._toolsets:
            raise UsageError(f"there is no toolset {name!r:.60}; define toolsets in a project file")
        argument_checks.one_of("toolset", name, self.toolsets)
        return self.only(*(member for member in self._toolsets[name] if member in self))

    def definitions(self, provider: str) -> list[JsonValue]:
        """Return the value of the ``tools`` argument of this provider's SDK.

        Raises ``UsageError`` if the provider is unknown, or does not accept this many tools in one request.
        """
        from toolc.client.definitions import definitions_for  # lazy: +20 ms; calls need no provider

        return definitions_for(provider, tuple(self), self.toolsets)

    def request_options(self, provider: str) -> JsonObject:
        """Return the request arguments that ``definitions`` needs beside ``tools``. Raises ``UsageError``.

        For most providers the dict is empty. For Cohere it is ``{"strict_tools": True}`` if every tool is strict.
        """
        from toolc.client.definitions import request_options_for  # lazy: as in definitions

        return request_options_for(provider, tuple(self))

    def schema(self, name: str) -> JsonObject:
        """Return a copy of the JSON Schema of a tool's parameters. Raises ``UsageError``."""
        return deepcopy(self.registered(name).spec.parameters.value)

    def execute(self, name: str, arguments: JsonObject) -> ToolResult:
        """Call a tool without a workspace and return its result. Raises the same errors as ``Executor.run``."""
        with Executor(self, pool=None) as executor:
            return executor.run(name, arguments)

    def __contains__(self, name: object) -> bool:
        return self._tools.get(name) is not None

    def __iter__(self) -> Iterator[ToolSpec]:
        return (tool.spec for tool in self._tools.by_name.values())

    def __len__(self) -> int:
        return len(self._tools.by_name)

    def __repr__(self) -> str:
        labels = map(_label, self._tools.by_name.values())
        return f"<Registry: {', '.join(labels) or 'no tools'}>"


def _registered(tool: Addable) -> Iterable[RegisteredTool]:
    if isinstance(tool, RegisteredTool):
        return (tool,)
    if isinstance(tool, Registry):
        return tuple(map(tool.registered, tool.names))
    from toolc.functions.define import registered  # lazy: +60 ms (the compiler); only tools of this program need it

    return (registered(tool),)


def _joined(first: Mapping[str, Sequence[str]], second: Mapping[str, Sequence[str]]) -> dict[str, tuple[str, ...]]:
    """Merge the toolsets of two registries. A toolset that both define has the tools of both."""
    return {name: (*first.get(name, ()), *second.get(name, ())) for name in (*first, *second)}


def _label(tool: RegisteredTool) -> str:
    if isinstance(tool.spec.backend, HostFunction):
        return f"{tool.spec.name} (in this process)"
    return f"{tool.spec.name} (of this program)" if tool.is_host_defined else tool.spec.name
