"""Find the words of a description that add something to a name.

A description such as "Get information about a specific place." for ``place_details`` only repeats the name, so a model
learns nothing from it. The lists of words were chosen with 200 descriptions of public tools. See
``tests/corpus/descriptions.json``.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from toolc.model.text import lazy_re

_GRAMMAR_TEXT: Final = """
a about all also an and another any are as at be been being between by can do does done each either every for
from had has have he her here his how if in into is it its just may me more most my no not of off on one only or
other our out over own per she so some such than that the their them then there these they this those to up via
was we were what when where which while who whose will with within would you your
"""
_GRAMMAR: Final = frozenset(_GRAMMAR_TEXT.split())
"""Words that only connect other words."""

_GENERIC_TEXT: Final = """
action allow allows anything api app application appropriate argument arguments available base based call calls
certain check content contents current data database detail detailed details display easily easy element enable
enables endpoint entity everything execute executes existing fetch fetches field find function functions get
gets given handle handles help helpful helps id identifier ids info information input item items let lets list
lists look lookup make makes method name named names new object objects operation operations output parameter
parameters particular perform performs position process processes project provide provided provides queries
query record relevant request requests resource resources response result results retrieve retrieves return
returned returns run runs search server show shows simple something specific specified status stuff system table
task tasks test testing thing things tool tools type types use used useful user users using value values various
"""
_GENERIC: Final = frozenset(_GENERIC_TEXT.split())
"""Words that fit almost every tool."""

_WORD: Final = lazy_re(r"[^\W\d_]+|[0-9]+")
_POSSESSIVE: Final = lazy_re("['\u2019]s\\b")
_HUMP: Final = lazy_re(r"(?<=[a-z])(?=[A-Z])")
_ENDINGS: Final = ("ations", "ation", "ings", "ing", "ies", "ied", "ers", "er", "ors", "or", "ed", "es", "s", "e")
_SHORTEST_STEM: Final = 3
"""The minimum length of a stem. Shorter stems are common to words with different meanings."""


def new_words(name: str, text: str) -> list[str]:
    """Return the words of ``text`` that are neither generic nor a form of a word of ``name``, each once, in order."""
    known = {*map(_stem, _words(name))}
    joined = "".join(_words(name))
    return [
        word
        for word in dict.fromkeys(_words(text))
        if word not in _GRAMMAR
        and word not in _GENERIC
        and _stem(word) not in known
        and not (len(word) > _SHORTEST_STEM and _stem(word) in joined)
    ]


def repeats_name(name: str, text: str) -> bool:
    """Return whether ``text`` consists of words of ``name`` and generic words."""
    return not new_words(name, text) and not {*map(_stem, _words(name))}.isdisjoint(map(_stem, _words(text)))


def name_words(name: str) -> list[str]:
    """Return the words of ``name`` that are not generic, each once, in order."""
    return [word for word in dict.fromkeys(_words(name)) if word not in _GRAMMAR and word not in _GENERIC]


def _words(text: str) -> list[str]:
    """Return the words of a text or a name, in lower case."""
    return [word.lower() for word in _WORD.findall(_HUMP.sub(" ", _POSSESSIVE.sub("", text)))]


@lru_cache(maxsize=10_000)  # descriptions repeat words, and most texts have fewer different ones
def _stem(word: str) -> str:
    """Return the approximate stem of an English word. ``files``, ``filing`` and ``file`` have the same stem."""
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _SHORTEST_STEM:
            return word[: -len(ending)]
    return word
