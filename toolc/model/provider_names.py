"""The names of the model providers, for modules that need nothing else of ``toolc.providers``."""

from __future__ import annotations

from typing import Final

__all__ = [
    "PROVIDER_NAMES",
]

PROVIDER_NAMES: Final = ("openai_chat", "openai_responses", "anthropic", "gemini", "mcp")
"""Every provider, in the order of the documentation.

Append a new one: its position is the number of its rule in a review, ``PRV01`` for the first.
"""
