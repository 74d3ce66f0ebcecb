"""``backend.agent``: a model that answers with the help of other tools."""

from __future__ import annotations

from functools import partial
from typing import Final, get_args

from toolc.compiler import codes
from toolc.compiler.decode_http_url import read_constant_url
from toolc.compiler.document import Node, Scalar
from toolc.compiler.reader import Findings, Reader, choice, integer, list_of, mapping, text
from toolc.compiler.templates import Scope, read_template
from toolc.schema import Schema
from toolc.spec import AgentBackend
from toolc.spec_backends import AgentProvider

_MOST_TURNS: Final = 100


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
    tools = reader.optional("tools", list_of(text)) or ()
    max_turns = reader.default("max_turns", integer(1, _MOST_TURNS), 10)
    reader.close()
    if provider is None or model is None or instructions is None:
        return None
    return AgentBackend(
        provider=provider,
        model=model,
        instructions=instructions,
        base_url=base_url,
        tools=tuple(sorted(set(tools))),
        max_turns=max_turns,
    )


def _base_url(node: Node, what: str, findings: Findings) -> str | None:
    url = read_constant_url(node, what, findings)
    if url is not None and url.query:
        findings.add(codes.BAD_VALUE, f"{what} must not have a query", node.span, "leave out '?' and what follows")
        return None
    return str(node.value) if url is not None and isinstance(node, Scalar) else None
