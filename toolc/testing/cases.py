"""The tests that ``toolc test`` runs: which there are, which are asked for, and what came of each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import cache
from typing import TYPE_CHECKING, Literal, TypeAlias

from toolc.client.build import split_target
from toolc.client.registry import Registry
from toolc.model.errors import UsageError

if TYPE_CHECKING:
    from toolc.compiler.located_tool import LocatedTool
    from toolc.compiler.pipeline.compile import Compilation
    from toolc.model.result import ToolResult
    from toolc.model.spec.tool import Test, ToolSpec
    from toolc.testing.workspace import Changes

__all__ = ["Case", "CaseFilter", "CaseSet", "Tested", "find_cases"]


Compile: TypeAlias = "Callable[[tuple[str, ...]], Compilation]"
"""Compiles specs, given their paths; it reports their findings and raises if there are errors."""

Verdict: TypeAlias = Literal["passed", "failed", "error"]
"""``error``: the call could not be made, so nothing was tested."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One test of a tool; ``number`` counts from 1. ``located`` is the tool in its spec, if that is known."""

    registry: Registry
    tool: ToolSpec
    number: int
    test: Test
    located: LocatedTool | None = None

    @property
    def name(self) -> str:
        """The test as people call it: ``word_count[1]``."""
        return f"{self.tool.name}[{self.number}]"

    @property
    def place(self) -> str:
        """Where it stands, ``file:line:column``; empty where that is not known."""
        return str(self.located.span("tests", self.number - 1)) if self.located else ""

    @property
    def path(self) -> str:
        """The file that it stands in; empty where that is not known."""
        return self.located.path if self.located else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tested:
    """What came of one test: ``problems`` are texts of several lines, perhaps. ``result`` is None for an error.

    ``files`` are those that the test names, as they are after the call; None for one that is not there.
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
    """The tools that are asked for: by patterns of their names and by tags, of which one of each kind must fit."""

    names: Sequence[str] = ()
    tags: Sequence[str] = ()

    def takes(self, tool: ToolSpec) -> bool:
        """Whether ``tool`` is asked for."""
        by_name = not self.names or any(
            fnmatchcase(name, pattern) for name in (tool.name, *tool.aliases) for pattern in self.names
        )
        return by_name and (not self.tags or not set(self.tags).isdisjoint(tool.tags))


@dataclass(frozen=True, slots=True)
class CaseSet:
    """The tests that were found, and the names of the tools that have none."""

    cases: tuple[Case, ...]
    untested: tuple[str, ...]


def find_cases(targets: Sequence[str], selection: CaseFilter, compile_sources: Compile) -> CaseSet:
    """The tests of ``targets``: specs, folders, registries, ``SPEC#NAME``.

    Specs without ``#NAME`` are compiled together, so that a name is one tool's. Raises ``UsageError`` where there
    are no tests.
    """
    chosen = [
        (source, tool)
        for source in _sources(targets, compile_sources)
        for tool in source.tools
        if selection.takes(tool)
    ]
    cases = tuple(case for source, tool in chosen for case in source.cases(tool))
    untested = tuple(dict.fromkeys(tool.name for _, tool in chosen if not tool.tests))
    if not chosen:
        raise UsageError("there is nothing to test: no tool fits --tool and --tag; see: toolc list")
    if not cases:
        raise UsageError(f"there is nothing to test: none of {len(untested)} tools has `tests:`")
    return CaseSet(cases, untested)


@dataclass(frozen=True, slots=True)
class _Source:
    registry: Registry
    located: Sequence[LocatedTool] = ()

    @property
    def tools(self) -> Iterable[ToolSpec]:
        return self.registry

    def cases(self, tool: ToolSpec) -> Iterator[Case]:
        own = (each for each in self.located if not each.comes_with_toolc)
        located = next((each for each in own if each.spec.name == tool.name), None)
        for number, test in enumerate(tool.tests, 1):
            yield Case(registry=self.registry, tool=tool, number=number, test=test, located=located)


def _sources(targets: Sequence[str], compile_sources: Compile) -> list[_Source]:
    @cache
    def compiled(*sources: str) -> _Source:
        compilation = compile_sources(sources)
        return _Source(Registry.compiled(compilation), compilation.located)

    found: list[_Source] = []
    whole: list[str] = []
    for target in targets:
        source, name = split_target(target)
        if source.suffix == ".json":
            found.append(_Source(Registry.load(target)))
        elif name is None:
            whole.append(target)
        else:
            all_of_it = compiled(str(source))
            found.append(_Source(all_of_it.registry.only(name), all_of_it.located))
    return [*([_own(compiled(*whole))] if whole else []), *found]


def _own(source: _Source) -> _Source:
    """Without the tools that come with toolc, whose tests are toolc's."""
    brought = {tool.spec.name for tool in source.located if tool.comes_with_toolc}
    if not brought:
        return source
    names = (name for name in source.registry.names if name not in brought)
    return replace(source, registry=source.registry.only(*names))
