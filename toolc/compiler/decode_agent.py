"""``backend.agent``: a model that answers with the help of other tools."""

from __future__ import annotations

from functools import partial
from typing import Final, get_args

from toolc.compiler.decode_http_url import read_constant_url
from toolc.compiler.parameters import NO_PARAMETERS
from toolc.compiler.templates import Scope, read_template
from toolc.document.map_reader import Findings, Reader, boolean, choice, integer, list_of, mapping, text
from toolc.document.nodes import Node
from toolc.model import codes
from toolc.model.json_schema import Schema
from toolc.model.spec.composed_backends import AgentBackend, AgentProvider
from toolc.model.spec.http_backend import Url
from toolc.model.template import Template

_OPENAI: Final = Url(scheme="https", host="api.openai.com", port=443, path=Template(("/v1",)))
_URLS: Final[dict[AgentProvider, Url]] = {
    "anthropic": Url(scheme="https", host="api.anthropic.com", port=443, path=Template(("/",))),
    "openai": _OPENAI,
    "openai_responses": _OPENAI,
}
"""Where each provider's own API is, as its SDK has it."""

_MOST_TURNS: Final = 100
_MOST_TOKENS: Final = 1_000_000
_LARGEST_BUDGET: Final = 100_000_000


def decode_agent(node: Node, what: str, findings: Findings, parameters: Schema | None) -> AgentBackend | None:
    """Decode ``backend.agent``; ``parameters`` is None where they could not be read."""
    found = mapping(node, what, findings)
    if found is None:
        return None
    reader = Reader(found, "backend.agent", findings)
    provider: AgentProvider | None = reader.required("provider", choice(get_args(AgentProvider)))
    model = reader.required("model", text)
    instructions = reader.required("instructions", partial(read_template, scope=Scope(parameters=parameters)))
    base_url = reader.optional("base_url", _base_url)
    api_key = reader.optional("api_key", _api_key)
    tools = reader.optional("tools", list_of(text)) or ()
    parallel = reader.default("parallel", boolean, True)
    max_turns = reader.default("max_turns", integer(1, _MOST_TURNS), 10)
    max_tokens = reader.default("max_tokens", integer(1, _MOST_TOKENS), 4096)
    token_budget = reader.default("token_budget", integer(1, _LARGEST_BUDGET), 200_000)
    reader.close()
    if provider is None:
        return None
    return AgentBackend(
        provider=provider,
        model=model or "",
        instructions=instructions or Template(()),
        base_url=base_url or _URLS[provider],
        api_key=api_key,
        tools=tuple(sorted(set(tools))),
        parallel=parallel,
        max_turns=max_turns,
        max_tokens=max_tokens,
        token_budget=token_budget,
    )


def _api_key(node: Node, what: str, findings: Findings) -> Template | None:
    """One secret and nothing else: whatever stands beside it would be no part of a key."""
    template = read_template(node, what, findings, Scope(parameters=NO_PARAMETERS, takes_secrets=True))
    if template is None:
        return None
    if template.sole is None or not template.secrets:
        hint = 'write api_key: "{{ secrets.NAME }}" and declare NAME under sandbox.secrets'
        findings.add(codes.BAD_VALUE, f"{what} must be the name of a secret", node.span, hint)
        return None
    return template


def _base_url(node: Node, what: str, findings: Findings) -> Url | None:
    url = read_constant_url(node, what, findings)
    if url is not None and url.query:
        findings.add(codes.BAD_VALUE, f"{what} must not have a query", node.span, "leave out '?' and what follows")
        return None
    return url
