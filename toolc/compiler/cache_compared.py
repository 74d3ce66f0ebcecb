"""Whether an edit changes anything that is found where tools are compared with each other.

It says yes wherever it is not sure; then all of them are compared.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Final

from toolc.compiler.cache_lines import Brief, briefs
from toolc.compiler.checks.names import NAMES
from toolc.compiler.codes import DUPLICATE_NAME, SIMILAR_NAME
from toolc.compiler.twins import Place, leaves_findings
from toolc.compiler.wording import WORDINGS, Worded

_ABOUT_NAMES: Final = frozenset({DUPLICATE_NAME.number, SIMILAR_NAME.number})


def leaves_comparisons(
    kept: Mapping[str, str], before: Mapping[str, str], after: Mapping[str, str], told: Collection[str]
) -> bool:
    """Whether what is found about other files' names and descriptions stays, and nothing is about the edited ones.

    All are lines by the files' paths: ``kept`` of those that have not changed, the others of the edited ones, which
    are the same files. ``told`` are the numbers of all that was found where tools are compared: nothing is found
    now where nothing was and nothing else is compared. Raises any error where one is no line of ours.
    """
    others, was, now = briefs(kept), briefs(before), briefs(after)
    old, edited = others | was, others | now
    is_renamed = {*map(_known_by, was.items())} != {*map(_known_by, now.items())}
    if is_renamed or not _ABOUT_NAMES.isdisjoint(told):
        taken, new = {*_names(others.values())}, [*_names(now.values())]
        if not taken.isdisjoint(new) or not taken.isdisjoint(_names(was.values())) or len({*new}) < len(new):
            return False
        if not leaves_findings(_named(old), _named(edited), after.keys(), NAMES):
            return False
    return leaves_findings(_worded(old), _worded(edited), after.keys(), WORDINGS)


def _known_by(tool: tuple[Place, Brief]) -> tuple[Place, str, tuple[str, ...]]:
    place, brief = tool
    return place, brief.name, brief.aliases


def _names(tools: Iterable[Brief]) -> Iterator[str]:
    """The names and aliases, as ``names`` compares them."""
    for tool in tools:
        yield from (name.lower() for name in (tool.name, *tool.aliases) if name)


def _named(tools: Mapping[Place, Brief]) -> dict[Place, str]:
    return {place: tool.name for place, tool in tools.items() if tool.name}


def _worded(tools: Mapping[Place, Brief]) -> dict[Place, Worded]:
    return {place: tool for place, tool in tools.items() if tool.wording}
