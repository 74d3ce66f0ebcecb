"""Checks of what providers accept: TC701 (Gemini), TC702 (strict mode), TC703 (root keywords), TC705 (losses)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from toolc.compiler.checks.base import tool_check
from toolc.compiler.checks.helpers import all_subschemas, has_type, parameters
from toolc.compiler.located_tool import LocatedTool
from toolc.compiler.schema.parameters import is_full_schema
from toolc.document.nodes import Mapping
from toolc.model import codes
from toolc.model.diagnostics import Diagnostic
from toolc.model.json_schema import LISTS_OF_SCHEMAS, pointer_tokens
from toolc.model.source import Span

REJECTED_AT_ROOT: Final = frozenset({"allOf", "anyOf", "const", "enum", "not", "oneOf"})

UNSUPPORTED_BY_GEMINI: Final = frozenset(
    {
        "allOf", "contains", "contentEncoding", "contentMediaType", "contentSchema", "dependentRequired",
        "dependentSchemas", "else", "exclusiveMaximum", "exclusiveMinimum", "if", "maxContains", "maxLength",
        "maxProperties", "minContains", "minLength", "minProperties", "multipleOf", "not", "pattern",
        "patternProperties", "propertyNames", "then", "unevaluatedItems", "unevaluatedProperties", "uniqueItems",
    }
)  # fmt: skip
"""Keywords that restrict values and are missing in Gemini's subset."""


@tool_check("TC702", needs={"parameters", "providers"})
def check_strict_mode(tool: LocatedTool) -> Iterator[Diagnostic]:
    """Report what OpenAI's strict mode cannot represent, or represents differently, in a tool that requests it.

    Strict mode requires every property and closes every object. An optional value becomes "a value or null", which
    models fill in more often. The lowering of the provider decides what cannot be represented at all.
    """
    strict_providers = (
        each.provider for each in tool.spec.providers if each.strict and each.provider.startswith("openai")
    )
    provider = next(strict_providers, None)
    if provider is None:
        return
    from toolc.providers.openai import CLOSES, strict_losses  # lazy: +20 ms; few tools request strict mode

    losses, is_strict = strict_losses(tool.spec, provider)
    if not is_strict:
        loss = losses[-1]
        hint = "change the schema, or remove strict: the definition is not strict either way"
        yield Diagnostic(codes.STRICT, loss.message, _span_at(tool, loss.pointer), hint)
        return
    required = tool.spec.parameters.required
    for entry, _ in parameters(tool):
        if entry.key not in required:
            yield Diagnostic(
                codes.STRICT, f"'{entry.key}' is optional, and strict mode requires every parameter",
                entry.key_span, "make it required (remove 'default' or 'optional', or add it to 'required'), "
                f"or remove strict: '{entry.key}' becomes a value or null",
            )  # fmt: skip
    for loss in losses:
        if loss.message.endswith(CLOSES):
            yield Diagnostic(
                codes.STRICT, "this object is open, but strict mode requires closed objects",
                _first_key(tool, loss.pointer), "add additionalProperties: false",
            )  # fmt: skip


def _span_at(tool: LocatedTool, pointer: str) -> Span:
    """Return the span of the node at a JSON Pointer into the tool's schema, or of the nearest existing node."""
    route = _route(tool, pointer)
    names = [step for step in route if isinstance(step, str)]
    return tool.key_span(*names) if len(names) == len(route) else tool.span(*route)


def _first_key(tool: LocatedTool, pointer: str) -> Span:
    """Return the span of the first key of the schema at ``pointer``, next to which another key can be added."""
    node = tool.node_at(*_route(tool, pointer))
    return node.entries[0].key_span if isinstance(node, Mapping) and node.entries else _span_at(tool, pointer)


def _route(tool: LocatedTool, pointer: str) -> list[str | int]:
    """Return the keys and indices from the tool's map that correspond to a JSON Pointer into its schema."""
    steps = pointer_tokens(pointer)
    root = tool.node.get("parameters")
    if len(steps) > 1 and isinstance(root, Mapping) and not is_full_schema(root):
        del steps[1]  # the shorthand has its parameters where a schema has 'properties'
    return [int(step) if above in LISTS_OF_SCHEMAS else step for above, step in zip(["", *steps], steps, strict=False)]


@tool_check("TC703", needs={"parameters"})
def check_choice_at_root(tool: LocatedTool) -> Iterator[Diagnostic]:
    """Report each keyword at the root of the parameters that a provider rejects.

    The lowering moves the keyword to the description, so it is enforced only when the call is validated.
    """
    schema = tool.spec.parameters.value
    for key in sorted(REJECTED_AT_ROOT & schema.keys()) if not REJECTED_AT_ROOT.isdisjoint(schema) else ():
        yield Diagnostic(
            codes.ROOT_CHOICE, f"providers reject '{key}' at the root of the parameters; a model gets it as text",
            tool.key_span("parameters", key),
            "make two tools, or add a parameter with an enum that selects the other parameters",
        )  # fmt: skip


@tool_check("TC701", needs={"parameters"})
def check_gemini_keywords(tool: LocatedTool) -> Iterator[Diagnostic]:
    """Report each keyword that restricts values and that Gemini does not accept. Off by default.

    The list is from Gemini's documentation of ``parametersJsonSchema``, as in ``toolc.providers.gemini_schema``,
    which this check must not import; a test compares the two.
    """
    for schema in all_subschemas(tool):
        for entry in schema.entries:
            if entry.key in UNSUPPORTED_BY_GEMINI:
                yield Diagnostic(
                    codes.GEMINI_KEYWORD, f"Gemini does not support '{entry.key}': its models get it as text",
                    entry.key_span, "calls are still validated against it; state the rule in the description too",
                )  # fmt: skip


@tool_check("TC705", needs={"parameters"})
def check_lossy_schemas(tool: LocatedTool) -> Iterator[Diagnostic]:
    """Report each ``oneOf``, and each ``format`` of a value that is not a number. Off by default.

    The check sees only the schema: ``loss.json`` lists everything that a provider's definition cannot represent.
    """
    for schema in all_subschemas(tool):
        if schema is not tool.node.get("parameters") and (entry := schema.entry("oneOf")):
            message = "Gemini interprets 'oneOf' as 'anyOf': a value that matches several schemas is valid there"
            hint = "write anyOf if the schemas exclude each other"
            yield Diagnostic(codes.LOSSY, message, entry.key_span, hint)
        if (entry := schema.entry("format")) and not (has_type(schema, "integer") or has_type(schema, "number")):
            message = "Gemini supports 'format' for numbers only: its models get this one as text"
            yield Diagnostic(codes.LOSSY, message, entry.key_span, "give an example in the description")
