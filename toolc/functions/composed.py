"""Composites and sub-agents that a program defines: what a spec says, said in Python, and read by the same rules.

The values become a document as a spec's text does, each with the line of the program that gave it. So what is wrong
has the code, the words and the place that it would have in a spec.
"""

from __future__ import annotations

import linecache
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from toolc.compiler.checks import check_each
from toolc.compiler.decode.tool import decode_tool
from toolc.compiler.project.files import SpecFolder
from toolc.document.map_reader import Findings
from toolc.document.nodes import Mapping as MappingNode
from toolc.document.nodes import MappingEntry, Node, Scalar
from toolc.document.nodes import Sequence as SequenceNode
from toolc.functions.step import DefinedStep, Place
from toolc.functions.tool import ComposedTool, Traits, check_traits
from toolc.model import argument_checks
from toolc.model.diagnostics import Diagnostic, Diagnostics
from toolc.model.errors import SpecError, UsageError
from toolc.model.json_schema import JsonObject
from toolc.model.source import Position, SourceText, Span

_HINTS: Final = ("read_only", "destructive", "idempotent", "open_world")
_PLAIN: Final = ("label", "aliases", "tags", "examples", "confirm")


def compose(
    about: JsonObject, backend: Mapping[str, object], traits: Traits, secrets: object, place: Place
) -> ComposedTool:
    """Make the tool of this ``backend`` (a kind, and its keys); ``about`` is its name, description and parameters.

    ``secrets`` are those of ``sandbox.secrets``, None for none. Raises ``UsageError`` for what is no JSON, and
    ``SpecError`` with all that a check of the same spec would call an error.
    """
    name = str(about["name"])
    check_traits(name, traits)
    given: dict[str, object] = {key: value for key, value in traits.items() if value is not None}
    sandbox: dict[str, object] = {} if secrets is None else {"secrets": secrets}
    if "timeout" in traits:
        sandbox["limits"] = {"timeout": f"{max(1, round(traits['timeout'] * 1000))}ms"}
    said: dict[str, object] = {
        **about,
        **{key: given[key] for key in _PLAIN if key in given},
        "annotations": {key: given[key] for key in _HINTS if key in given},
        "backend": backend,
        **({"sandbox": sandbox} if sandbox else {}),
        **({"result": {"schema": given["result_schema"]}} if "result_schema" in given else {}),
    }
    source = SourceText(place.path, "".join(linecache.getlines(place.path)))
    diagnostics = Diagnostics()
    node = _Nodes(name, source).node(said, place)
    assert isinstance(node, MappingNode)
    tool = decode_tool(node, Findings(source, diagnostics), SpecFolder(Path(), ""))
    for each in check_each([tool]):
        diagnostics.add(each.code, each.message, each.span, each.hint, each.fix)
    refuse(name, diagnostics.sorted())
    return ComposedTool(tool.spec, tool)


def refuse(name: str, found: Sequence[Diagnostic]) -> None:
    """Raise ``SpecError`` where one of ``found`` is an error of the tool ``name``."""
    errors = [each for each in found if each.is_error]
    if errors:
        lines = (f"{each.span}: {each.code.number} {each.message}{_hint(each)}" for each in errors)
        count = "1 error" if len(errors) == 1 else f"{len(errors)} errors"
        raise SpecError("\n".join([f"{count} in the tool {name!r}:", *lines]), tuple(found))


def _hint(found: Diagnostic) -> str:
    """What to do. How a value is put in quotes in a spec's text says nothing of a program."""
    return f"; {found.hint}" if found.hint and "quotes" not in found.hint else ""


@dataclass(frozen=True, slots=True)
class _Nodes:
    """Makes nodes of values that a program gave for the tool ``name``; ``source`` is where it was defined."""

    name: str
    source: SourceText

    def node(self, value: object, place: Place, what: str = "", depth: int = 0) -> Node:
        """The node of a value that stands at ``place``. Raises ``UsageError`` for what is no JSON."""
        span = self._span(place)
        if depth > argument_checks.MAX_DEPTH:
            raise UsageError(f"tool {self.name!r}: {what} is nested too deep, or holds itself")
        if isinstance(value, DefinedStep):
            return self.node(value.said(), value.place, what, depth + 1)
        if isinstance(value, Mapping):
            return MappingNode.of(self._entries(value, place, what, depth), span)
        if isinstance(value, list | tuple):
            items = (self.node(each, place, f"{what}[{at}]", depth + 1) for at, each in enumerate(value))
            return SequenceNode(tuple(items), span)
        argument_checks.json_value(f"tool {self.name!r}: {what}", value)
        assert value is None or isinstance(value, bool | int | float | str)
        return Scalar(value, span)

    def _entries(
        self, value: Mapping[object, object], place: Place, what: str, depth: int
    ) -> Iterator[MappingEntry]:
        span = self._span(place)
        for key, each in value.items():
            name = argument_checks.text(f"tool {self.name!r}: a key of {what or 'it'}", key)
            yield MappingEntry(name, span, self.node(each, place, f"{what}.{name}".lstrip("."), depth + 1))

    def _span(self, place: Place) -> Span:
        """The line of the program, without the blanks around it; its beginning where it cannot be read."""
        line = self.source.line(place.line) if place.path == self.source.path else ""
        start = len(line) - len(line.lstrip()) + 1
        return Span(
            place.path, Position(place.line, start), Position(place.line, max(start, len(line.rstrip())) + 1)
        )
