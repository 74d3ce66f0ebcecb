"""Suppression comments of a state, by the finding that they suppress. A comment that moves is a new comment."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from toolc.compiler.located_tool import LocatedTool
from toolc.compiler.project.suppressions import Suppression, suppressions
from toolc.dataclass import dataclass
from toolc.document.nodes import Mapping, Node
from toolc.document.nodes import Sequence as SequenceNode
from toolc.model.diagnostics import Diagnostics
from toolc.model.source import SourceText
from toolc.review.model.change import Route
from toolc.review.model.state import State


@dataclass(frozen=True, slots=True)
class Suppressed:
    """The finding that a comment suppresses: a code at a place in a tool.

    Outside tools, as in Python files, ``tool`` is empty and ``route`` is the text of the line.
    """

    number: str
    tool: str
    route: Route


def suppressed_by(comment: Suppression, tools: Iterable[LocatedTool]) -> Suppressed:
    """Return the finding that a comment suppresses. ``tools`` include the tools of its file."""
    path = comment.span.path
    for tool in tools:
        if tool.path == path and (route := _route(tool.node, path, comment.lines)) is not None:
            return Suppressed(comment.number, tool.spec.name, route)
    source = comment.comment.source
    texts = sorted(source.line(line).partition("#")[0].strip() for line in comment.lines if line <= len(source.lines))
    return Suppressed(comment.number, "", tuple(text for text in texts if text))


def comments_of(state: State) -> list[tuple[Suppression, Suppressed]]:
    """Return the suppression comments of a state, sorted by file, each with the finding that it suppresses."""
    located = [tool.located for tool in state.tools.values() if tool.located]
    sources = {tool.path: tool.source for tool in located} | {each.path: each for each in _python_files(state)}
    found = [each for path in sorted(sources) for each in suppressions(sources[path], Diagnostics())]
    return [(each, suppressed_by(each, located)) for each in found]


def _python_files(state: State) -> Iterator[SourceText]:
    for tool in state.tools.values():
        for file in getattr(tool.spec.backend, "files", ()) if tool.located else ():
            if file.path.endswith(".py") and file.text is not None and tool.located:
                folder = tool.located.path.rpartition("/")[0]
                yield SourceText(f"{folder}/{file.path}" if folder else file.path, file.text)


def _route(node: Node, path: str, lines: frozenset[int]) -> Route | None:
    """Return the route to the outermost value that starts on one of the lines."""
    steps: Sequence[tuple[str | int, int, str, Node]] = ()
    if isinstance(node, Mapping):
        steps = [(each.key, each.key_span.start.line, each.key_span.path, each.value) for each in node.entries]
    elif isinstance(node, SequenceNode):
        steps = [(index, each.span.start.line, each.span.path, each) for index, each in enumerate(node.items)]
    for step, line, place, _ in steps:
        if place == path and line in lines:
            return (step,)
    for step, _, _, value in steps:
        if (inner := _route(value, path, lines)) is not None:
            return (step, *inner)
    return None
