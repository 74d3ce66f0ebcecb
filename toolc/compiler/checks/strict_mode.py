"""TC702: parameters that OpenAI's strict mode cannot say as they are, where the spec asks for that mode.

Strict mode wants every property required and every object closed. What is optional becomes "a value or null"
there, which a model fills in more often than it would have. What it cannot say at all, the lowering decides.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from toolc.compiler import codes
from toolc.compiler.decode_tool import LocatedTool
from toolc.compiler.document import Mapping
from toolc.compiler.parameters import is_full_schema
from toolc.compiler.properties import parameters
from toolc.diagnostics import Diagnostic
from toolc.schema import LISTS_OF_SCHEMAS
from toolc.source import Span

NUMBER: Final = "TC702"

NEEDS: Final = frozenset({"parameters", "providers"})


def check(tool: LocatedTool) -> Iterator[Diagnostic]:
    """What OpenAI's strict mode cannot say or says otherwise, as its lowering has it, where a spec asks for it."""
    asking = (each.provider for each in tool.spec.providers if each.strict and each.provider.startswith("openai"))
    provider = next(asking, None)
    if provider is None:
        return
    from toolc.providers.lowering import LossLog  # start-up time: few tools ask for strict mode
    from toolc.providers.openai_strict import strict_parameters
    from toolc.providers.strict import CLOSES

    losses = LossLog(tool.spec.name)
    if strict_parameters(tool.spec, provider, losses) is None:
        why = losses.found[-1]
        hint = "say it in another way, or leave strict out: the definition goes without it"
        yield Diagnostic(codes.STRICT, why.message, _place(tool, why.pointer), hint)
        return
    required = tool.spec.parameters.required
    for entry, _ in parameters(tool):
        if entry.key not in required:
            yield Diagnostic(
                codes.STRICT, f"'{entry.key}' is optional, and strict mode requires every parameter",
                entry.key_span, f"require it, or leave strict out: '{entry.key}' becomes a value or null",
            )  # fmt: skip
    for loss in losses.found:
        if loss.message.endswith(CLOSES):
            yield Diagnostic(
                codes.STRICT, "this object is open, and strict mode wants every object closed",
                _first_key(tool, loss.pointer), "add additionalProperties: false",
            )  # fmt: skip


def _place(tool: LocatedTool, pointer: str) -> Span:
    """Where that stands which a JSON Pointer into the tool's schema is about, as near as it was written."""
    route = _route(tool, pointer)
    names = [step for step in route if isinstance(step, str)]
    return tool.key_span(*names) if len(names) == len(route) else tool.span(*route)


def _first_key(tool: LocatedTool, pointer: str) -> Span:
    """The first key of the schema at ``pointer``, beside which another one can be written."""
    node = tool.node_at(*_route(tool, pointer))
    return node.entries[0].key_span if isinstance(node, Mapping) and node.entries else _place(tool, pointer)


def _route(tool: LocatedTool, pointer: str) -> list[str | int]:
    """The keys and indices from the tool's map to what a JSON Pointer into its schema is about."""
    steps = [step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:]]
    root = tool.node.get("parameters")
    if len(steps) > 1 and isinstance(root, Mapping) and not is_full_schema(root):
        del steps[1]  # the shorthand has its parameters where a schema has its 'properties'
    return [
        int(step) if above in LISTS_OF_SCHEMAS else step for above, step in zip(["", *steps], steps, strict=False)
    ]
