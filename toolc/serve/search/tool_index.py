"""Rank the tools that fit a query with BM25F, over the words of names, descriptions and parameters.

A word counts more if fewer tools contain it, and more in a name than in a long description. A synonym counts less than
the word itself. Sentences that many tools share, such as notes on permissions, do not count.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from difflib import get_close_matches
from itertools import pairwise
from typing import Final

from toolc.model.json_schema import JsonObject, list_under, map_under, subschemas
from toolc.model.spec.http_backend import HttpBackend, Url
from toolc.model.spec.tool import ToolSpec
from toolc.serve.search.purposes import purpose_of_query, purpose_of_tool
from toolc.serve.search.words import plain, stems, synonyms

_WEIGHTS: Final = {
    "name": 4.0, "tags": 3.0, "path": 2.0, "label": 1.5, "summary": 1.5, "description": 0.3, "parameters": 0.3,
}  # fmt: skip
"""How much a word counts in each part of a definition. The summary is the first sentence of the description."""

_SYNONYM: Final = 0.25
"""How much a synonym counts, compared with the word of the query itself."""

_PAIR: Final = 0.3
"""How much it counts that two words of the query are next to each other in a label."""

_RARITY: Final = 0.8
"""How much more a rare word counts than a frequent one. It is an exponent."""

_SATURATION: Final = 1.0
"""How slowly further occurrences of a word stop counting (``k1`` of BM25)."""

_LENGTH: Final = 0.75
"""How much the length of a part lowers the weight of its words (``b`` of BM25)."""

_COVERAGE: Final = 0.3
"""How much it counts that a tool has all words of the query, and the query all words of the label. An exponent."""

_DEPRECATED: Final = 0.7
"""How much a deprecated tool counts, compared with one that is not."""

_SHARED: Final = 3
"""A sentence in more descriptions than this says nothing about a tool."""

_SENTENCE: Final = re.compile(r"(?<=[.!?:])\s+|\s+-\s+|\n")
_LINK: Final = re.compile(r"\]\([^)]*\)")


class ToolIndex:
    """An index of tools. Building it takes half a second for 1,000 large definitions, and a query 10 ms."""

    def __init__(self, tools: Iterable[ToolSpec]) -> None:
        self._tools = tuple(tools)
        sentences = [[*filter(str.strip, _SENTENCE.split(_LINK.sub("] ", tool.description)))] for tool in self._tools]
        shared = Counter(each for found in sentences for each in set(found))
        parts = [
            _parts(tool, [each for each in found if shared[each] <= _SHARED])
            for tool, found in zip(self._tools, sentences, strict=True)
        ]
        self._purposes = [purpose_of_tool(tool) for tool in self._tools]
        titles = [stems(tool.label or tool.name) for tool in self._tools]
        self._labels = [frozenset(title) for title in titles]
        self._pairs: defaultdict[frozenset[str], set[int]] = defaultdict(set)
        for position, title in enumerate(titles):
            for pair in pairwise(title):
                self._pairs[frozenset(pair)].add(position)
        lengths = {name: sum(part[name].total() for part in parts) / max(1, len(parts)) or 1.0 for name in _WEIGHTS}
        self._postings: dict[str, dict[int, float]] = {}
        for position, part in enumerate(parts):
            for name, counts in part.items():
                weight = _WEIGHTS[name] / (1 - _LENGTH + _LENGTH * counts.total() / lengths[name])
                for stem, count in counts.items():
                    found = self._postings.setdefault(stem, {})
                    found[position] = found.get(position, 0.0) + weight * count

    def search(self, query: str) -> list[ToolSpec]:
        """Return the tools that contain a word of the query or a synonym, best first."""
        scores, covered, labels = (defaultdict[int, float](float) for _ in range(3))
        total = 0.0
        query = plain(query)
        asked = [*dict.fromkeys(stems(query))]
        for stem in asked:
            found = self._occurrences(stem)
            having = sum(weight for _, weight, _ in found.values()) + 0.5
            rarity = math.log(1 + (len(self._tools) - having + 1) / having) ** _RARITY
            total += rarity
            for position, (frequency, weight, share) in found.items():
                scores[position] += rarity * frequency * (_SATURATION + 1) / (frequency + _SATURATION)
                covered[position] += rarity * weight
                labels[position] += share
        for pair in pairwise(asked):
            together = self._pairs.get(frozenset(pair), ())
            for position in together:
                scores[position] += _PAIR * math.log(1 + len(self._tools) / (len(together) + 0.5))
        purpose = purpose_of_query(query)
        for position in scores:
            coverage = covered[position] / total * (1 + labels[position])
            scores[position] *= math.pow(coverage, _COVERAGE) * purpose.fit(self._purposes[position])
            scores[position] *= _DEPRECATED if self._tools[position].deprecated else 1
        return [self._tools[position] for position in sorted(scores, key=lambda each: (-scores[each], each))]

    def _occurrences(self, stem: str) -> dict[int, tuple[float, float, float]]:
        """Return the tools with a word or a synonym, its frequency and closeness, and its share of the label."""
        found: dict[int, tuple[float, float, float]] = {}
        others = synonyms(stem) if stem in self._postings else synonyms(stem) | self._similar(stem)
        for word, weight in (dict.fromkeys(others, _SYNONYM) | {stem: 1.0}).items():
            for position, frequency in self._postings.get(word, {}).items():
                best, nearest, share = found.get(position, (0.0, 0.0, 0.0))
                share += weight / len(self._labels[position]) if word in self._labels[position] else 0.0
                found[position] = max(best, weight * frequency), max(nearest, weight), share
        return found

    def _similar(self, stem: str) -> set[str]:
        """Return words like one that no tool has, with another spelling."""
        known = (each for each in self._postings if each[:2] == stem[:2])
        return {*get_close_matches(stem, known, n=2, cutoff=0.8)}


def _parts(tool: ToolSpec, sentences: Sequence[str]) -> dict[str, Counter[str]]:
    """Return the count of each stem in each part of a definition."""
    label = tool.label or ""
    if sentences and sentences[0].rstrip(".") == label.rstrip("."):
        sentences = sentences[1:]
    texts = {
        "name": " ".join((tool.name, *tool.aliases)),
        "tags": " ".join(tool.tags),
        "path": " ".join(_path(tool)),
        "label": label,
        "summary": " ".join(sentences[:1]),
        "description": " ".join(sentences[1:]),
        "parameters": " ".join(_parameter_texts(tool.parameters.value)),
    }
    return {name: Counter(stems(text)) for name, text in texts.items()}


def _path(tool: ToolSpec) -> Iterator[str]:
    """Yield the constant parts of the path of an HTTP request."""
    if isinstance(tool.backend, HttpBackend) and isinstance(tool.backend.url, Url):
        yield from (part for part in tool.backend.url.path.parts if isinstance(part, str))


def _parameter_texts(parameters: JsonObject) -> Iterator[str]:
    """Yield the names, descriptions and permitted words of parameters."""
    for schema in subschemas(parameters):
        yield from map_under(schema, "properties")
        yield from (each for each in (schema.get("description"), *list_under(schema, "enum")) if isinstance(each, str))
