"""About how many tokens a tool's definition costs in each request: the same estimate on both sides."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from toolc.model.registry_file import canonical
from toolc.model.spec.tool import ToolSpec
from toolc.providers.anthropic import Anthropic
from toolc.review.pairing import Pair

_BYTES_PER_TOKEN: Final = 4
"""English text and JSON have about four characters a token in the vocabularies that are in use."""


def tokens(tools: Iterable[ToolSpec]) -> int:
    """An estimate for a request that offers all these tools."""
    definitions = Anthropic().lower([*tools]).definitions  # which lose nothing of a schema
    return sum(-(-len(canonical(each)) // _BYTES_PER_TOKEN) for each in definitions)


def cost(pair: Pair) -> tuple[int, int]:
    """About how many tokens a tool costs before and after; none on the side that lacks it."""
    before, after = (tokens([side.spec] if side else []) for side in (pair.old, pair.new))
    return before, after
