"""What a query wants to do and what a tool does: read one thing, list many, create, update or delete.

The verbs of ``toolc/data/search_words.toml`` decide. A verb can have several kinds, such as ``set``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from toolc.dataclass import dataclass
from toolc.model.spec.tool import ToolSpec
from toolc.serve.search.words import table, words

_CHANGES: Final = frozenset({"create", "update", "delete"})
_CLAUSE: Final = re.compile(r"[,;:.]\s")
_SAME_KIND: Final = 1.6
_SAME_NUMBER: Final = 1.15
_BOTH_CHANGE: Final = 1.2


@dataclass(frozen=True, slots=True)
class Purpose:
    """``kinds`` has ``read`` and the names of changes. It is empty for a tool without a known verb."""

    kinds: frozenset[str]
    is_of_many: bool = False

    def fit(self, other: Purpose) -> float:
        """Return the factor by which a tool with the other purpose fits better than one that does something else."""
        if "read" in self.kinds & other.kinds:
            return _SAME_KIND * (_SAME_NUMBER if self.is_of_many == other.is_of_many else 1)
        if self.kinds & other.kinds:
            return _SAME_KIND
        return _BOTH_CHANGE if self.kinds & _CHANGES and other.kinds & _CHANGES else 1


def purpose_of_query(query: str) -> Purpose:
    """Return the purpose that the first verb of a clause says. A query without one reads, if it ends nothing."""
    clauses = [words(clause) for clause in _CLAUSE.split(query)]
    for clause in clauses:
        if kinds := _kinds_of_clause(clause):
            return Purpose(kinds, _wants_many(clause))
    every_word = {word for clause in clauses for word in clause}
    if not every_word.isdisjoint(table("ending")):
        return Purpose(frozenset({"update", "delete"}))
    return Purpose(frozenset({"read"}), _wants_many(clauses[0]))


def purpose_of_tool(tool: ToolSpec) -> Purpose:
    """Return the purpose that the annotations of a tool and the first verb of its label or name say."""
    title = words(tool.label or tool.name)
    is_of_many = not table("many").isdisjoint(title[:1]) or title[:2] == ["get", "all"]
    kinds = next(filter(None, map(_kinds, title)), frozenset[str]())
    if tool.annotations.read_only:
        return Purpose(frozenset({"read"}), is_of_many)
    return Purpose(kinds if tool.annotations.read_only is None else kinds - {"read"}, is_of_many)


def _kinds_of_clause(clause: Sequence[str]) -> frozenset[str]:
    while len(clause) > 1 and (clause[0].endswith("ly") or clause[0] in table("leading")):
        clause = clause[1:]
    if list(clause[:2]) == ["do", "not"]:
        return frozenset({"update", "delete"})
    kinds = _kinds(clause[0]) if clause else frozenset[str]()
    is_ended = not kinds.isdisjoint(_CHANGES) and not {"off", "away"}.isdisjoint(clause)
    return frozenset({"delete"}) if is_ended else kinds


def _kinds(word: str) -> frozenset[str]:
    return frozenset(kind for kind in (_CHANGES | {"read"}) if word in table(kind))


def _wants_many(clause: Sequence[str]) -> bool:
    """Return whether the last word before the first preposition is a plural, as in ``show labels of an issue``."""
    if clause and clause[0] in table("many"):
        return True
    rest = clause[1:] if clause and _kinds(clause[0]) else clause
    end = next((position for position, word in enumerate(rest) if word in table("prepositions")), len(rest))
    noun = rest[end - 1] if end else ""
    return len(noun) > 3 and noun.endswith("s") and not noun.endswith(("ss", "us", "is"))
