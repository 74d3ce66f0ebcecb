"""TC209: two tools with nearly the same description: a model that chooses by them has to guess.

Linear in the number of tools: a description is filed under the smallest hashes of its runs of three words, so
that nearly equal ones meet under one of them, and each is compared with the first that is filed there. Two
that share their sentences and differ in a word of their names (``list_branches``, ``list_labels``) are told
apart by it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final
from zlib import crc32

from toolc.compiler import codes
from toolc.compiler.decode_tool import LocatedTool
from toolc.compiler.rule import Rule
from toolc.diagnostics import Diagnostic

RULE: Final = Rule(
    codes=(codes.SIMILAR_DESCRIPTION,),
    explanation="""\
A model chooses a tool by its description. Where two say nearly the same it takes either, and which one depends on
the order they are listed in. Say in each what sets it apart from the other, and when to use which.
""",
    bad="""\
toolc: 1
defaults:
  backend:
    shell: {argv: [crm, "search"]}
tools:
  - name: search_clients
    description: Search the customer database for people by name and return the best ten of the matches.
  - name: find_person
    description: Search the customer database for people by name and return the best ten of the matches.
""",
    good="""\
toolc: 1
defaults:
  backend:
    shell: {argv: [crm, "search"]}
tools:
  - name: search_clients
    description: Search the customer database for people by name and return the best ten of the matches.
  - name: find_person
    description: Look one employee up in the staff directory by e-mail address. It knows no customers.
""",
)

_WORD: Final = re.compile(r"\w+")
_SMALL_WORDS: Final = bytes(
    ord(chr(byte).lower()) if _WORD.match(chr(byte)) else ord(" ") for byte in range(128)
).ljust(256)
_RUN: Final = 3
_FILED: Final = 4
_SHORTEST: Final = 8
_ALIKE: Final = 0.85


def check(tools: Sequence[LocatedTool]) -> Iterator[Diagnostic]:
    """Each tool whose description is nearly that of an earlier one."""
    first: dict[int, tuple[LocatedTool, frozenset[int]]] = {}
    readable = [tool for tool in tools if not tool.damaged & {"name", "description"}]
    for tool in sorted(readable, key=lambda tool: tool.path):
        runs = _runs(tool.spec.description)
        filed = sorted(runs)[:_FILED]
        twin = next((each for key in filed if (each := first.get(key)) and _is_alike(runs, each[1])), None)
        for key in filed:
            first.setdefault(key, (tool, runs))
        # One name for both is an error of its own.
        if twin and twin[0].spec.name != tool.spec.name and not _says_what_it_is(tool, twin[0]):
            other = twin[0].spec.name
            message = f"this description is nearly that of '{other}', the tool at {twin[0].span('name')}"
            hint = f"say what sets '{tool.spec.name}' apart from '{other}'"
            yield Diagnostic(codes.SIMILAR_DESCRIPTION, message, tool.span("description"), hint)


def _runs(description: str) -> frozenset[int]:
    """A hash of each run of three words; none for a description too short to compare."""
    words = _words_in_order(description)
    if len(words) < _SHORTEST:
        return frozenset()
    runs = zip(*(words[at:] for at in range(_RUN)), strict=False)
    return frozenset(map(crc32, map(b" ".join, runs)))


def _words_in_order(description: str) -> list[bytes]:
    """The words in small letters; where all is ASCII, without a regular expression."""
    if description.isascii():
        return description.encode().translate(_SMALL_WORDS).split()
    return [word.encode() for word in _WORD.findall(description.lower())]


def _says_what_it_is(tool: LocatedTool, twin: LocatedTool) -> bool:
    """Whether one description has a word that the other lacks and that sets its tool's name apart, too."""
    return any(
        (_words(one.spec.name) - _words(two.spec.name))
        & (_words(one.spec.description) - _words(two.spec.description))
        for one, two in ((tool, twin), (twin, tool))
    )


def _words(text: str) -> frozenset[str]:
    return frozenset(word.removesuffix("s") for word in _WORD.findall(text.lower().replace("_", " ")))


def _is_alike(one: frozenset[int], two: frozenset[int]) -> bool:
    return len(one & two) >= _ALIKE * len(one | two)
