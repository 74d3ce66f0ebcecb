"""TC203: two tools of one name, in one file or in two. Names that differ in case alone are one name too.

A client that runs several servers, a file system and a model's own memory all confuse ``Read`` and ``read``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from toolc.compiler import codes
from toolc.compiler.decode_tool import LocatedTool
from toolc.compiler.similar_names import similar_names
from toolc.diagnostics import Diagnostic
from toolc.source import Span

NUMBER: Final = "TC203"


@dataclass(frozen=True, slots=True)
class _Name:
    text: str
    span: Span
    is_alias: bool

    @property
    def order(self) -> tuple[bool, str, int, int]:
        """Who had it first: names before aliases, then by place."""
        start = self.span.start
        return (self.is_alias, self.span.path, start.line, start.column)


def check(tools: Sequence[LocatedTool]) -> Iterator[Diagnostic]:
    """Each name or alias that an earlier tool (by file and line; names before aliases) has, or nearly has."""
    yield from _clashes(tools)
    yield from similar_names(tools)


def _clashes(tools: Sequence[LocatedTool]) -> Iterator[Diagnostic]:
    names = [name.lower() for tool in tools for name in (tool.spec.name, *tool.spec.aliases)]
    if len(set(names)) == len(names):
        return
    taken: dict[str, _Name] = {}
    for name in sorted(_names(tools), key=lambda name: name.order):
        first = taken.setdefault(name.text.lower(), name)
        if first is name:
            continue
        same = first.text == name.text
        how = "has the name" if not first.is_alias else "has the alias"
        message = f"the tool at {first.span} {how} '{first.text}' too" + ("" if same else ", in other letters")
        what = "alias" if name.is_alias else "name"
        yield Diagnostic(
            codes.DUPLICATE_NAME, f"'{name.text}' is taken: {message}", name.span, f"choose another {what}"
        )


def _names(tools: Sequence[LocatedTool]) -> Iterator[_Name]:
    for tool in tools:
        if "name" not in tool.damaged:
            yield _Name(tool.spec.name, tool.span("name"), is_alias=False)
        if "aliases" not in tool.damaged:
            for index, alias in enumerate(tool.spec.aliases):
                yield _Name(alias, tool.span("aliases", index), is_alias=True)
