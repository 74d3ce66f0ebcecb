"""The names of the model providers and of the engines, and suggestions for misspelled names.

A command can offer them as choices without importing the packages ``providers`` and ``sandbox``.
"""

from collections.abc import Iterable
from typing import Final

__all__ = ["AUTO", "ENGINES", "PROVIDER_NAMES", "close_match", "engine_names"]

PROVIDER_NAMES: Final = ("openai_chat", "openai_responses", "anthropic", "gemini", "mcp")
"""All providers, in the order of the documentation.

Append new ones: the position is the number of the provider's rule in a review, ``PRV01`` for the first.
"""

ENGINES: Final = ("docker", "oci")
"""All engines, best first. Each is a module of this name with a function ``engine()``."""

AUTO: Final = "auto"
"""Selects the first engine that can run the call."""


def engine_names() -> tuple[str, ...]:
    """Return the values that ``--engine`` accepts."""
    return (AUTO, *ENGINES)


def close_match(name: str, known: Iterable[str], cutoff: float = 0.6) -> str:
    """Return the known name most similar to ``name``, or an empty string if none reaches the ``cutoff`` (0 to 1)."""
    import difflib  # lazy: +1 ms; only misspelled names need it

    return next(iter(difflib.get_close_matches(name, known, n=1, cutoff=cutoff)), "")
