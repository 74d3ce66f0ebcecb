"""Estimate how many tokens the definition of a tool adds to each request.

Providers publish neither their current vocabularies nor how they write definitions into a prompt. The estimate is
therefore for the JSON of a definition, and counts what the vocabularies of today have in common: most words are one
token, longer ones a token per nine letters. Of 1,863 definitions (207 tools for nine providers), it differs from
OpenAI's o200k_base by at most 15 %, and by 3 % on average, and from Mistral's Tekken by at most 15 % and 4 %.
Descriptions in other languages than English differ more.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from toolc.model.registry_io import canonical
from toolc.model.spec.tool import ToolSpec
from toolc.model.text import lazy_re
from toolc.providers import load_provider

ESTIMATED_FOR: Final = "anthropic"
"""The provider whose definitions are counted if none is named: they keep the whole schema and all descriptions."""

_PIECE: Final = lazy_re(r"(?:[^\W\d_]|[\u0300-\u1fff])+|\d{1,3}|[^\w\s]+|_+|\s{2,}|\n")
"""Words, up to three digits, punctuation, and spaces except single ones, which belong to the word after them."""

_LETTERS: Final = 9
_MARKS: Final = 4
_OTHER_LETTERS: Final = 3
"""The characters per token: letters of ASCII in one word, punctuation, and letters of other alphabets."""

_WIDE: Final = "\u2e80"
"""The first character of scripts such as Chinese, with about three tokens per four characters."""


def definition_tokens(tools: Sequence[ToolSpec], provider: str = ESTIMATED_FOR) -> list[int]:
    """Return about how many tokens the definition of each tool has, in a request with all of them."""
    return [estimate_tokens(canonical(each).decode()) for each in load_provider(provider).lower(tools).definitions]


def estimate_tokens(text: str) -> int:
    """Return about how many tokens ``text`` has."""
    return sum(map(_tokens, _PIECE.findall(text)))


def _tokens(piece: str) -> int:
    if piece.isascii():
        length = _LETTERS if piece[0].isalpha() else _MARKS
        return 1 if piece[0].isdigit() or piece[0].isspace() else -(-len(piece) // length)
    if not any(map(str.isalpha, piece)):
        return len(piece)
    wide = sum(each >= _WIDE for each in piece)
    return -(-wide * 3 // 4) - (wide - len(piece)) // _OTHER_LETTERS
