"""Decode backends that call models or other tools: ``backend.agent`` and ``backend.composite``."""

from __future__ import annotations

from functools import partial
from typing import Final

from toolc.compiler.decode.http_url import read_constant_url
from toolc.compiler.schema.parameters import NO_PARAMETERS
from toolc.compiler.templates.expressions import expression, read_json_map
from toolc.compiler.templates.parse import Scope, read_template
from toolc.document.declared import read_keys
from toolc.document.map_reader import Findings, Reader, first_line, map_parser, mapping, sequence, text
from toolc.document.nodes import Mapping, Node, Scalar, Sequence
from toolc.model import codes
from toolc.model.json_schema import Schema
from toolc.model.names import IDENTIFIER
from toolc.model.spec.composed_backends import AgentBackend, AgentProvider, CompositeBackend, Step, Strategy
from toolc.model.spec.http_backend import Url
from toolc.model.template import Template

_OPENAI: Final = Url(scheme="https", host="api.openai.com", port=443, path=Template(("/v1",)))
_URLS: Final[dict[AgentProvider, Url]] = {
    "anthropic": Url(scheme="https", host="api.anthropic.com", port=443, path=Template(("/",))),
    "openai": _OPENAI,
    "openai_responses": _OPENAI,
}
"""The default API address of each provider, as in its SDK."""

_MAX_STEPS: Final = 100
"""These are far beyond what models and composites in use need, so a larger number is a typing mistake."""


@map_parser("backend.agent")
def decode_agent(reader: Reader, /, *, parameters: Schema | None, **_: object) -> AgentBackend | None:
    """Decode ``backend.agent``. ``parameters`` is None if they could not be read."""
    instructions = partial(read_template, scope=Scope(parameters=parameters))
    found = read_keys(reader, AgentBackend, instructions=instructions, base_url=_base_url, api_key=_api_key)
    if "provider" not in found:
        return None
    found = {"model": "", "instructions": Template(()), "base_url": _URLS[found["provider"]], **found}
    return AgentBackend(**found)


def _api_key(node: Node, what: str, findings: Findings) -> Template | None:
    """Decode the API key: one secret reference without any other text."""
    template = read_template(node, what, findings, Scope(parameters=NO_PARAMETERS, allows_secrets=True))
    if template is None:
        return None
    if template.sole_placeholder is None or not template.secrets:
        hint = 'write api_key: "{{ secrets.NAME }}" and declare NAME under sandbox.secrets'
        code = codes.BAD_VALUE if template.names or template.secrets else codes.CREDENTIAL
        findings.add(code, f"{what} must be the name of a secret", node.span, hint)
        return None
    return template


def _base_url(node: Node, what: str, findings: Findings) -> Url | None:
    url = read_constant_url(node, what, findings)
    if url is not None and url.query:
        findings.add(codes.BAD_VALUE, f"{what} must not have a query", node.span, "remove '?' and what follows")
        return None
    return url


@map_parser("backend.composite")
def decode_composite(reader: Reader, /, *, parameters: Schema | None, **_: object) -> CompositeBackend | None:
    """Decode ``backend.composite``. ``parameters`` is None if they could not be read."""
    strategy = read_keys(reader, CompositeBackend).get("strategy")
    steps = reader.optional("steps", partial(_steps, parameters=parameters, strategy=strategy))
    return CompositeBackend(strategy=strategy, steps=steps) if strategy is not None and steps else None


def _steps(
    node: Node, what: str, findings: Findings, parameters: Schema | None, strategy: Strategy | None
) -> tuple[Step, ...] | None:
    list_node = sequence(node, what, findings)
    if list_node is None:
        return None
    if not 0 < len(list_node.items) <= _MAX_STEPS:
        message = f"a composite has 1 to {_MAX_STEPS} steps, but this one has {len(list_node.items)}"
        findings.add(codes.BAD_VALUE, message, first_line(list_node.span))
        return None
    ids = _ids(list_node, findings)
    steps: list[Step] = []
    for index, item in enumerate(list_node.items):
        # If the strategy could not be read, assume that steps run in order.
        before = frozenset(ids[:index]) if strategy in {"sequential", "pipeline", None} else frozenset[str]()
        scope = Scope(parameters=parameters, steps=before, later_steps=frozenset(ids) - before)
        steps.append(_step(item, f"{what}[{index}]", findings, scope))
    if strategy == "conditional":
        _check_conditions(list_node, findings)
    return tuple(steps)


def _ids(steps: Sequence, findings: Findings) -> list[str]:
    """Return the id of each step, or an empty string if it has none. Report duplicates."""
    ids: list[str] = []
    for item in steps.items:
        node = item.get("id") if isinstance(item, Mapping) else None
        name = node.value if isinstance(node, Scalar) and isinstance(node.value, str) else ""
        if node is not None and name and name in ids:
            message = f"an earlier step has the id '{name[:80]}'"
            findings.add(codes.BAD_VALUE, message, node.span, "give each step a unique id")
        ids.append(name)
    return ids


def _step(node: Node, what: str, findings: Findings, scope: Scope) -> Step:
    """Decode a step. An invalid step is kept, because checks refer to steps by index."""
    map_node = mapping(node, what, findings)
    if map_node is None:
        return Step(id="", tool="")
    reader = Reader(map_node, what, findings)
    read_arguments = partial(read_json_map, scope=scope)
    found = read_keys(reader, Step, id=_id, args=read_arguments, condition=expression)
    reader.close()
    return Step(**{"id": "", "tool": ""} | found)


def _id(node: Node, what: str, findings: Findings) -> str | None:
    name = text(node, what, findings)
    if name is not None and not IDENTIFIER.fullmatch(name):
        hint = "use letters, digits and _, as templates name it: {{ steps.ID.outputs }}"
        findings.add(codes.NAME, f"{what} cannot be {name[:100]!r}", node.span, hint)
        return None
    return name


def _check_conditions(steps: Sequence, findings: Findings) -> None:
    for item in steps.items[:-1]:
        if isinstance(item, Mapping) and item.entry("if") is None:
            message = "a 'conditional' runs the first step whose 'if' is true, so no step after this one can run"
            findings.add(codes.MISSING_KEY, message, first_line(item.span), "add 'if', or make it the last step")
