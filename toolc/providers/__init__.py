"""Model providers: their tool declarations, calls and results.

Start reading in ``provider``. Each provider has a module with the passes that lower a schema for it, and its messages.
``json_schema`` lowers JSON Schema. To add a provider, add a module here, and its name to ``_PROVIDERS`` and to
``model.names``.

- ``anthropic``: Anthropic Messages.
- ``provider``: ``Provider``, and what the definitions of several providers share. Public: ``CallMessage``,
  ``Lowering``, ``requests_strict``.
- ``bedrock``: Amazon Bedrock Converse: ``toolSpec``, ``toolUse``, ``toolResult``.
- ``calls``: reads the calls in a response, even if they are malformed or were cut off. Public: ``members``,
  ``parse_arguments``.
- ``cohere``: Cohere Chat, version 2 of the API.
- ``content``: the content of results as text, Base64 and descriptions. Public: ``blocks``, ``describe_block``,
  ``to_base64``.
- ``gemini``: Google Gemini: declarations, calls, results.
- ``gemini_stream``: joins the chunks of a Gemini stream, including arguments that arrive in parts.
  Public: ``join_gemini``.
- ``provider_limits``: limits that providers change without notice, from a data file. Public: ``Exceeded``, ``Limit``,
  ``exceeded_limits``, ``limits_of``, ``size_of``.
- ``mcp``: the Model Context Protocol: ``Tool``, ``CallToolResult``. Public: ``call_result``, ``hints``.
- ``mistral``: Mistral Chat Completions.
- ``ollama``: Ollama Chat, the API of a local model server.
- ``openapi``: OpenAPI 3.1, with an operation per tool. It is not a ``Provider``, because it has no calls or messages.
  Public: ``document``, ``operation``, ``DOCUMENT``, ``SHARED_SCHEMAS``.
- ``openai``: Chat Completions and Responses.
- ``response_streams``: joins the chunks of a stream into the response that an API returns without streaming. Public:
  ``join_chunks``, ``STREAMING``.
- ``token_estimate``: estimates the tokens of a definition. Public: ``definition_tokens``, ``estimate_tokens``,
  ``ESTIMATED_FOR``.

May import: ``data``, ``model`` and ``validation``.
"""

from __future__ import annotations

from functools import cache
from pkgutil import resolve_name
from typing import Final

from toolc.providers.provider import Provider

_PROVIDERS: Final = {
    "openai_chat": "toolc.providers.openai:CHAT",
    "openai_responses": "toolc.providers.openai:RESPONSES",
    "anthropic": "toolc.providers.anthropic:ANTHROPIC",
    "gemini": "toolc.providers.gemini:GEMINI",
    "mcp": "toolc.providers.mcp:MODEL_CONTEXT_PROTOCOL",
    "bedrock": "toolc.providers.bedrock:BEDROCK",
    "mistral": "toolc.providers.mistral:MISTRAL",
    "cohere": "toolc.providers.cohere:COHERE",
    "ollama": "toolc.providers.ollama:OLLAMA",
}
"""The module and the variable of each provider, by name. The module is imported when the provider is first used."""


@cache
def load_provider(name: str) -> Provider:
    """Return the provider with this name. Raises ``KeyError`` for an unknown name."""
    provider: Provider = resolve_name(_PROVIDERS[name])
    return provider
