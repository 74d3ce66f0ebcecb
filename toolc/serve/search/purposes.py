"""Classify the purpose of queries and tools: read one thing, list many, create, update or delete.

The verbs in ``toolc/data/search_words.toml`` decide and, for tools, the HTTP method. A verb such as ``set`` can have
several kinds.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from toolc.dataclass import dataclass
from toolc.model.spec.http_backend import HttpBackend
from toolc.model.spec.tool import ToolSpec
from toolc.serve.search.words import TABLES, words

_CHANGES: Final = frozenset({"create", "update", "delete"})
_OF_METHODS: Final = {"POST": "create", "PUT": "update", "PATCH": "update", "DELETE": "delete"}
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
        """Return the factor by which a tool with the ``other`` purpose fits better than an unrelated tool."""
        if "read" in self.kinds & other.kinds:
            return _SAME_KIND * (_SAME_NUMBER if self.is_of_many == other.is_of_many else 1)
        if self.kinds & other.kinds:
            return _SAME_KIND
        return _BOTH_CHANGE if self.kinds & _CHANGES and other.kinds & _CHANGES else 1


def purpose_of_query(query: str) -> Purpose:
    """Return the purpose of the first verb in a clause. A query without a verb reads, unless it ends something."""
    clauses = [words(clause) for clause in _CLAUSE.split(query)]
    for clause in clauses:
        if kinds := _kinds_of_clause(clause):
            return Purpose(kinds, _is_of_many(clause))
    if not TABLES["ending"].isdisjoint(words(query)):
        return Purpose(frozenset({"update", "delete"}))
    return Purpose(frozenset({"read"}), _is_of_many(clauses[0]))


def purpose_of_tool(tool: ToolSpec) -> Purpose:
    """Return the purpose according to the annotations, the HTTP method, and the first verb of the label or name."""
    title = words(tool.label or tool.name)
    if tool.label and title and not _kinds(title[0]):
        title[0] = title[0].removesuffix("s")  # "Lists labels"
    is_of_many = _is_of_many(title)
    kinds = next(filter(None, map(_kinds, title)), frozenset[str]())
    if tool.annotations.read_only:
        return Purpose(frozenset({"read"}), is_of_many)
    if isinstance(tool.backend, HttpBackend) and tool.backend.method in _OF_METHODS:
        kinds |= {_OF_METHODS[tool.backend.method]}
    return Purpose(kinds if tool.annotations.read_only is None else kinds - {"read"}, is_of_many)


def _kinds_of_clause(clause: Sequence[str]) -> frozenset[str]:
    modal = next((position + 1 for position, word in enumerate(clause) if word in TABLES["modal"]), 0)
    clause = clause[modal:]
    while len(clause) > 1 and (clause[0] in TABLES["leading"] or (clause[0].endswith("ly") and not _kinds(clause[0]))):
        clause = clause[1:]
    if not TABLES["negation"].isdisjoint(clause[:3]):
        return frozenset({"update", "delete"})
    kinds = frozenset({"read"}) if clause[1:2] == ["of"] else _kinds(clause[0]) if clause else frozenset[str]()
    if modal:  # a wish is a change, even "they should see this"
        kinds = kinds - {"read"} or _CHANGES
    is_ended = not kinds.isdisjoint(_CHANGES) and not {"off", "away"}.isdisjoint(clause)
    return frozenset({"delete"}) if is_ended else kinds


def _kinds(word: str) -> frozenset[str]:
    return frozenset(kind for kind in (_CHANGES | {"read"}) if word in TABLES[kind])


def _is_of_many(clause: Sequence[str]) -> bool:
    """Return whether a word before the first preposition is a plural, as in ``show labels of an issue``."""
    if clause and clause[0] in TABLES["many"]:
        return True
    rest = clause[1:] if clause and _kinds(clause[0]) else clause
    end = next((position for position, word in enumerate(rest) if word in TABLES["prepositions"]), len(rest))
    return any(len(noun) > 3 and noun.endswith("s") and not noun.endswith(("ss", "us", "is")) for noun in rest[:end])
