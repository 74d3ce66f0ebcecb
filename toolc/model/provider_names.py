"""The names of the model providers, separate from ``toolc.providers`` so that they can be imported alone."""

from __future__ import annotations

from typing import Final

__all__ = ["PROVIDER_NAMES"]

PROVIDER_NAMES: Final = ("openai_chat", "openai_responses", "anthropic", "gemini", "mcp")
"""All providers, in the order of the documentation.

Append new ones: the position is the number of the provider's rule in a review, ``PRV01`` for the first.
"""
