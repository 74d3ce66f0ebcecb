"""The names of the model providers and of the engines.

A command can offer them as choices without importing the packages ``providers`` and ``sandbox``.
"""

from typing import Final

__all__ = ["AUTO", "ENGINES", "PROVIDER_NAMES", "engine_names"]

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
