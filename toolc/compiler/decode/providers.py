"""Decode ``providers``: options for the tool definition of single providers."""

from __future__ import annotations

from typing import Final

from toolc.document.map_reader import Findings, Reader, boolean, mapping, quote_names, suggestion
from toolc.document.nodes import Mapping, MappingEntry, Node
from toolc.model import codes
from toolc.model.names import PROVIDER_NAMES
from toolc.model.spec.tool import ProviderChoice

STRICT: Final = ("anthropic", "openai_chat", "openai_responses")
"""The providers that have a strict mode."""

PROVIDERS: Final = tuple(sorted(PROVIDER_NAMES))
"""The providers that a spec can name, in the order used in messages."""


def decode_providers(node: Node, what: str, findings: Findings) -> tuple[ProviderChoice, ...] | None:
    """Decode ``providers``, a map of provider names to options."""
    found = mapping(node, what, findings)
    if found is None:
        return None
    choices = (_choice(entry, found, findings) for entry in found.entries)
    return tuple(sorted((each for each in choices if each is not None), key=lambda each: each.provider))


def _choice(entry: MappingEntry, node: Mapping, findings: Findings) -> ProviderChoice | None:
    if entry.key not in PROVIDERS:
        hint = suggestion(entry.key, PROVIDERS) or f"the providers are {quote_names(PROVIDERS)}"
        rename = findings.rename_key_fix(entry, node, PROVIDERS)
        findings.add(codes.UNKNOWN_KEY, f"there is no provider '{entry.key[:80]}'", entry.key_span, hint, rename)
        return None
    found = mapping(entry.value, f"providers.{entry.key}", findings)
    if found is None:
        return None
    reader = Reader(found, f"providers.{entry.key}", findings)
    strict = reader.default("strict", boolean, False) if entry.key in STRICT else False
    reader.close()
    return ProviderChoice(provider=entry.key, strict=strict)
