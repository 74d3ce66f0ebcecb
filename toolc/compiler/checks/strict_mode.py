"""TC702: parameters that OpenAI's strict mode cannot say as they are, where the spec asks for that mode.

Strict mode wants every property required and every object closed. What is optional becomes "a value or null"
there, which a model fills in more often than it would have.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from toolc.compiler import codes
from toolc.compiler.decode_tool import LocatedTool
from toolc.compiler.document import Mapping, Scalar
from toolc.compiler.properties import all_subschemas, has_type, parameters
from toolc.compiler.rule import Rule
from toolc.diagnostics import Diagnostic

NEEDS: Final = frozenset({"parameters", "providers"})


def check(tool: LocatedTool) -> Iterator[Diagnostic]:
    """Each optional parameter and each open object, where ``providers`` asks OpenAI for strict mode."""
    if not any(each.strict and each.provider.startswith("openai") for each in tool.spec.providers):
        return
    required = tool.spec.parameters.required
    for entry, _ in parameters(tool):
        if entry.key not in required:
            yield Diagnostic(
                codes.STRICT, f"'{entry.key}' is optional, and strict mode requires every parameter",
                entry.key_span, f"require it, or leave strict out: '{entry.key}' becomes a value or null",
            )  # fmt: skip
    for schema in all_subschemas(tool):
        if has_type(schema, "object") and schema is not tool.node.get("parameters") and not _is_closed(schema):
            yield Diagnostic(
                codes.STRICT, "this object is open, and strict mode wants every object closed",
                schema.entries[0].key_span, "add additionalProperties: false",
            )  # fmt: skip


def _is_closed(schema: Mapping) -> bool:
    node = schema.get("additionalProperties")
    return isinstance(node, Scalar) and node.value is False


_BAD: Final = """\
toolc: 1
name: find_order
label: Find an order
description: Find an order by its number. Use it before you answer questions about a delivery.
parameters:
  number: {type: integer, minimum: 1, description: "The order's number"}
  year: {type: integer, minimum: 2000, default: 2026, description: "The year of the order"}
annotations: {read_only: true, open_world: false}
providers: {openai_responses: {strict: true}}
backend:
  shell: {argv: [find-order, --, "{{ number }}", "{{ year }}"]}
sandbox: {image: "shop/orders:3"}
examples:
  - {number: 7, year: 2026}
"""

RULE: Final = Rule(
    codes=(codes.STRICT,),
    explanation="""\
In strict mode OpenAI's models can write nothing that the schema refuses. The price is a smaller language: every
property is required, and every object closed. An optional parameter has to become "a value or null", so that
the model decides about it on every call; where it decides for null, the tool gets no argument.

Where that is not what the tool means, require the parameter, or leave strict mode out: a call is validated in
any case.
""",
    bad=_BAD,
    good=_BAD.replace("minimum: 2000, default: 2026", "minimum: 2000"),
)
