"""Checks of the steps of composites: TC412 (arguments) and TC413 (conditions)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from toolc.compiler.checks.check_registry import tool_check, tool_set_check
from toolc.compiler.located_tool import LocatedTool
from toolc.compiler.templates.expressions import parse_expression
from toolc.compiler.templates.parse import STEP_PROPERTIES
from toolc.document.suggestions import suggestion
from toolc.model import codes
from toolc.model.call_graph import tools_by_name
from toolc.model.diagnostics import Diagnostic

_FIRST_OPERAND: Final = frozenset(
    {"subexpression", "index_expression", "projection", "value_projection", "filter_projection", "flatten", "pipe"}
)
"""The operators whose first operand applies to the root, and the other operands to its result."""


@tool_check("TC413", needs={"parameters"})
def check_step_conditions(tool: LocatedTool) -> Iterator[Diagnostic]:
    """Report each name in a condition that is not a parameter, an earlier step, or a part of one of them."""
    backend = tool.spec.backend
    if backend.tag != "composite":
        return
    ids = [step.id for step in backend.steps]
    for index, step in enumerate(backend.steps):
        before = ids[:index] if backend.strategy in {"sequential", "pipeline"} else []
        for chain in _chains(parse_expression(step.condition)) if step.condition else ():
            problem = _problem(chain, tool, before, ids)
            if problem:
                message, hint = problem
                span = tool.span("backend", "composite", "steps", index, "if")
                span = tool.source.locate(span, ".".join(chain))
                yield Diagnostic(codes.CONDITION, message, span, hint)


def _problem(chain: tuple[str, ...], tool: LocatedTool, before: list[str], ids: list[str]) -> tuple[str, str] | None:
    """Return the message and the hint about an invalid chain of names, or None if it is valid."""
    root, name, what = (*chain, "", "")[:3]
    if root not in {"args", "steps"}:
        return f"a condition can use 'args' and 'steps', not '{root}'", _root_hint(root, tool, ids)
    if root == "args":
        declared = tool.spec.all_parameters.properties
        if not name or name in declared:
            return None
        hint = suggestion(name, declared, "the parameters are", "the tool declares no parameters")
        return f"there is no parameter '{name}'", hint
    if name and "" in ids and name not in ids:
        return None  # it may refer to the step whose id could not be read
    if name and name in ids and name not in before:
        return f"the step '{name}' has no result yet when this step starts", "use an earlier step"
    if name and name not in before:
        hint = suggestion(name, before, "the earlier steps are", "there is no earlier step")
        return f"there is no step '{name}'", hint
    if what and what not in STEP_PROPERTIES:
        return f"a step has no '{what}'", suggestion(what, STEP_PROPERTIES, "the results are")
    return None


def _root_hint(name: str, tool: LocatedTool, ids: list[str]) -> str:
    if name in tool.spec.all_parameters.properties:
        return f"write args.{name}"
    return f"write steps.{name}.outputs" if name in ids else "write args.NAME or steps.ID.outcome"


def _chains(node: Mapping[str, object]) -> Iterator[tuple[str, ...]]:
    """Yield the chains of names that start at the root of an expression's data."""
    kind = node["type"]
    children = node.get("children")
    parts = [each for each in children if isinstance(each, dict)] if isinstance(children, list) else []
    if kind == "field":
        yield (str(node["value"]),)
    elif kind == "subexpression" and parts[0]["type"] == "field":
        chain = []
        for part in parts:
            if part["type"] != "field":
                break
            chain.append(str(part["value"]))
        yield tuple(chain)
    elif kind in _FIRST_OPERAND:
        yield from _chains(parts[0])
    elif kind != "expref":  # its names are those of list items
        for part in parts:
            yield from _chains(part)


@tool_set_check("TC412")
def check_step_arguments(tools: Sequence[LocatedTool]) -> Iterator[Diagnostic]:
    """Report each argument of a step that is missing, unknown or of a type that the called tool rejects."""
    if not any(tool.spec.backend.tag == "composite" for tool in tools):
        return
    from toolc.compiler.checks.step_types import StepArguments  # lazy: +17 ms; few specs have steps

    known = tools_by_name(tool.spec for tool in tools if "parameters" not in tool.damaged)
    returning = tools_by_name(tool.spec for tool in tools if tool.damaged.isdisjoint({"backend", "result"}))
    for tool in tools:
        backend = tool.spec.backend
        if backend.tag == "composite" and "parameters" not in tool.damaged:
            for index, step in enumerate(backend.steps):
                if step.tool and step.tool in known:
                    yield from StepArguments(tool, backend, index, known, returning).findings()
