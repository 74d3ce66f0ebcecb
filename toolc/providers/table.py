"""Every provider, by name, in the order of the documentation."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from toolc.providers.anthropic import Anthropic
from toolc.providers.base import Provider
from toolc.providers.gemini import Gemini
from toolc.providers.mcp import MCP
from toolc.providers.openai_chat import OpenAIChat
from toolc.providers.openai_responses import OpenAIResponses

_ALL: Final[tuple[Provider, ...]] = (OpenAIChat(), OpenAIResponses(), Anthropic(), Gemini(), MCP())

PROVIDERS: Final[Mapping[str, Provider]] = MappingProxyType({provider.name: provider for provider in _ALL})
"""What ``definitions(name)`` and ``build`` know."""
