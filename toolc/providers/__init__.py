"""Model providers: their tool declarations, calls and results.

Start reading in ``base``. One module per provider: which keywords it keeps, its limits, and its messages.
``json_schema`` lowers JSON Schema. A new provider is a module here, in ``_PROVIDERS`` and ``model.names``.

- ``anthropic``: Anthropic Messages; strict tools and their limits. Public: ``Anthropic``.
- ``base``: ``Provider``, and helpers for messages: files as text, base64, unreadable arguments. Public:
  ``CallMessage``, ``Lowering``, ``members``.
- ``gemini``: Google Gemini: declarations, calls, results.
- ``gemini_schema``: the subset of JSON Schema that Gemini documents.
- ``mcp``: the Model Context Protocol: ``Tool``, ``CallToolResult``. Public: ``call_result``.
- ``openai``: Chat Completions and Responses; the keywords of strict mode (``_KEPT``), its limits, calls and results.
  Public: ``strict_losses``, ``CLOSES``.

May import: ``model`` and ``validation``.
"""

from __future__ import annotations

from functools import cache
from pkgutil import resolve_name
from typing import Final

from toolc.providers.base import Provider

__all__ = ["load_provider"]

_PROVIDERS: Final = {
    "openai_chat": "toolc.providers.openai:CHAT",
    "openai_responses": "toolc.providers.openai:RESPONSES",
    "anthropic": "toolc.providers.anthropic:ANTHROPIC",
    "gemini": "toolc.providers.gemini:GEMINI",
    "mcp": "toolc.providers.mcp:MODEL_CONTEXT_PROTOCOL",
}
"""The module and the variable of each provider, by name. A module is imported when its provider is first used."""


@cache
def load_provider(name: str) -> Provider:
    """Return a provider by its name, and import its module if needed. Raises ``KeyError`` for an unknown name."""
    provider: Provider = resolve_name(_PROVIDERS[name])
    return provider
