"""Checks of the names of tools: TC203 (duplicate and similar names)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from toolc.compiler.checks.check_registry import tool_set_check
from toolc.compiler.located_tool import LocatedTool
from toolc.dataclass import dataclass
from toolc.model import codes
from toolc.model.diagnostics import Diagnostic
from toolc.model.source import Span

_SHORTEST: Final = 8
"""The minimum length of similar names. Shorter names often differ in one letter on purpose (``cp`` and ``scp``)."""


@dataclass(frozen=True, slots=True)
class _Name:
    text: str
    span: Span
    is_alias: bool

    @property
    def order(self) -> tuple[bool, str, int, int]:
        """The sort key, which puts names before aliases and sorts them by position."""
        start = self.span.start
        return (self.is_alias, self.span.path, start.line, start.column)


@tool_set_check("TC203", includes_builtin_tools=False)
def check_names(tools: Sequence[LocatedTool]) -> Iterator[Diagnostic]:
    """Report each name or alias that equals, or nearly equals, an earlier one in the order of files and lines.

    Names come before aliases. Case is ignored, because clients, file systems and models confuse ``Read`` and ``read``.
    """
    yield from _duplicate_names(tools)
    yield from similar_names(tools)


def _duplicate_names(tools: Sequence[LocatedTool]) -> Iterator[Diagnostic]:
    names = [name.lower() for tool in tools for name in (tool.spec.name, *tool.spec.aliases)]
    if len(set(names)) == len(names):
        return
    first_uses: dict[str, _Name] = {}
    for name in sorted(_names(tools), key=lambda name: name.order):
        first = first_uses.setdefault(name.text.lower(), name)
        if first is name:
            continue
        is_same = first.text == name.text
        has = "has the name" if not first.is_alias else "has the alias"
        message = f"the tool at {first.span} {has} '{first.text}' too" + ("" if is_same else ", in another letter case")
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


def similar_names(tools: Sequence[LocatedTool]) -> Iterator[Diagnostic]:
    """Yield a finding for each tool whose name is similar to the name of an earlier tool."""
    readable = sorted((tool for tool in tools if "name" not in tool.damaged), key=lambda tool: tool.path)
    first: dict[str, LocatedTool] = {}
    for tool in readable:
        keys = _keys(tool.spec.name)
        if first.keys().isdisjoint(keys):  # the usual case
            first.update(dict.fromkeys(keys, tool))
            continue
        candidates = [first.setdefault(key, tool) for key in keys]
        other = next((each for each in candidates if _is_near(tool.spec.name, each.spec.name)), None)
        if other is None:
            continue
        message = f"'{tool.spec.name}' is easily confused with '{other.spec.name}', the tool at {other.span('name')}"
        hint = "choose names that differ in a word, e.g. list_users and get_user"
        yield Diagnostic(codes.SIMILAR_NAME, message, tool.span("name"), hint)


def _letters(name: str) -> str:
    return name.replace("_", "").replace("-", "").lower()


def _keys(name: str) -> list[str]:
    """Return the keys of a name: its letters, and its letters without each one of them. Similar names share a key."""
    letters = _letters(name)
    places = range(len(letters)) if len(letters) >= _SHORTEST else ()
    return [letters, *[letters[:index] + letters[index + 1 :] for index in places]]


def _is_near(name: str, other: str) -> bool:
    """Return whether two names that share a key are similar. Names that differ only in case are duplicates instead."""
    one, two = _letters(name), _letters(other)
    if name.lower() == other.lower() or _digits(one) != _digits(two):
        return False
    return one == two or len(one) != len(two) or sorted(one) == sorted(two)


def _digits(name: str) -> str:
    """Return the digits of a name, in which ``sha1_sum`` and ``sha256_sum`` differ."""
    return "".join(character for character in name if character.isdigit())
