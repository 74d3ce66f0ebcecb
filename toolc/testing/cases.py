"""The tests that ``toolc test`` runs: find them, select them, and represent their results."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import cache
from typing import TYPE_CHECKING, Literal, TypeAlias

from toolc.client.build import split_target
from toolc.client.registry import Registry
from toolc.dataclass import dataclass, field, replace
from toolc.model.errors import UsageError

if TYPE_CHECKING:
    from toolc.compiler.located_tool import LocatedTool
    from toolc.compiler.pipeline.compile import Compilation
    from toolc.model.result import ToolResult
    from toolc.model.spec.tool import Test, ToolSpec
    from toolc.testing.workspace import Changes

CompileSources: TypeAlias = "Callable[[tuple[str, ...]], Compilation]"
"""Compiles the specs at these paths. Reports their findings, and raises if there are errors."""

Verdict: TypeAlias = Literal["passed", "failed", "error"]
"""``error`` means that the call could not be made, so nothing was tested."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One test of a tool. ``number`` counts from 1. ``located`` is the tool with positions in its spec, if known."""

    registry: Registry
    tool: ToolSpec
    number: int
    test: Test
    located: LocatedTool | None = None

    @property
    def name(self) -> str:
        """The name in reports, for example ``word_count[1]``."""
        return f"{self.tool.name}[{self.number}]"

    @property
    def location(self) -> str:
        """The position ``file:line:column``, or an empty string if it is unknown."""
        return str(self.located.span("tests", self.number - 1)) if self.located else ""

    @property
    def path(self) -> str:
        """The file of the test, or an empty string if it is unknown."""
        return self.located.path if self.located else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tested:
    """The result of one test. Each of ``problems`` may have several lines.

    ``result`` is None if the verdict is ``error``. ``files`` has the texts, after the call, of the files that the test
    names, and None for a file that does not exist.
    """

    case: Case
    verdict: Verdict
    duration_ms: float
    problems: tuple[str, ...] = ()
    result: ToolResult | None = None
    changes: Changes | None = None
    files: Mapping[str, str | None] = field(default_factory=dict)
    error: BaseException | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseFilter:
    """Selects tools that match one of the name patterns and one of the tags. An empty list matches all tools."""

    names: Sequence[str] = ()
    tags: Sequence[str] = ()

    def matches(self, tool: ToolSpec) -> bool:
        """Return whether ``tool`` is selected."""
        by_name = not self.names or any(
            fnmatchcase(name, pattern) for name in (tool.name, *tool.aliases) for pattern in self.names
        )
        return by_name and (not self.tags or not set(self.tags).isdisjoint(tool.tags))


@dataclass(frozen=True, slots=True)
class CaseSet:
    """The tests that were found, and the names of the selected tools without tests."""

    cases: tuple[Case, ...]
    untested: tuple[str, ...]


def find_cases(targets: Sequence[str], selection: CaseFilter, compile_sources: CompileSources) -> CaseSet:
    """Return the tests of ``targets``, which are specs, folders, registries or ``SPEC#NAME``.

    Specs without ``#NAME`` are compiled together, so duplicate names are errors. Raises ``UsageError`` if there are no
    tests.
    """
    sources = _sources(targets, compile_sources)
    chosen = [(source, tool) for source in sources for tool in source.registry if selection.matches(tool)]
    cases = tuple(case for source, tool in chosen for case in source.cases(tool))
    untested = tuple(dict.fromkeys(tool.name for _, tool in chosen if not tool.tests))
    if not chosen:
        raise UsageError("no tool matches --tool and --tag; list the tools with: toolc list")
    if not cases:
        raise UsageError(f"none of the {len(untested)} tools has tests; add the key 'tests' to a spec")
    return CaseSet(cases, untested)


@dataclass(frozen=True, slots=True)
class _Source:
    registry: Registry
    located: Sequence[LocatedTool] = ()

    def cases(self, tool: ToolSpec) -> Iterator[Case]:
        local = (each for each in self.located if not each.comes_with_toolc)
        located = next((each for each in local if each.spec.name == tool.name), None)
        for number, test in enumerate(tool.tests, 1):
            yield Case(registry=self.registry, tool=tool, number=number, test=test, located=located)


def _sources(targets: Sequence[str], compile_sources: CompileSources) -> list[_Source]:
    @cache
    def compiled(*sources: str) -> _Source:
        compilation = compile_sources(sources)
        return _Source(Registry.compiled(compilation), compilation.located)

    compiled_sources: list[_Source] = []
    whole: list[str] = []
    for target in targets:
        source, name = split_target(target)
        if source.suffix == ".json":
            compiled_sources.append(_Source(Registry.load(target)))
        elif name is None:
            whole.append(target)
        else:
            complete = compiled(str(source))
            compiled_sources.append(_Source(complete.registry.only(name), complete.located))
    return [*([_without_builtin(compiled(*whole))] if whole else []), *compiled_sources]


def _without_builtin(source: _Source) -> _Source:
    builtin = {tool.spec.name for tool in source.located if tool.comes_with_toolc}
    if not builtin:
        return source
    names = (name for name in source.registry.names if name not in builtin)
    return replace(source, registry=source.registry.only(*names))
