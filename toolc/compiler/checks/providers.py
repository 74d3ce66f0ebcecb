"""Checks of tools against the limits of providers.

TC701 (Gemini), TC702 (strict modes), TC703 (root keywords), TC705 (losses), TC708 and TC709 (headers and names of MCP).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from toolc.compiler.checks.check_registry import tool_check
from toolc.compiler.checks.helpers import all_subschemas, has_type, parameters, text_may_contain, text_of
from toolc.compiler.located_tool import LocatedTool
from toolc.document.nodes import Mapping
from toolc.model import codes
from toolc.model.diagnostics import Diagnostic
from toolc.model.source import Span
from toolc.model.text import lazy_re

MCP_HEADER: Final = "x-mcp-header"
_TOKEN: Final = lazy_re(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
"""Matches the name of an HTTP field (RFC 9110, 5.6.2)."""

MAX_NAME: Final = 64
"""The maximum number of characters of a name for providers."""

PREFIX: Final = 20
"""The characters that a name should leave for the prefixes of clients, such as ``mcp__SERVER__``."""

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
    """Report the parts of a tool that its strict mode cannot represent, or represents differently.

    Strict modes close every object. OpenAI's also requires every property. An optional value becomes "a value or
    null", which models fill in more often. The provider's lowering decides what cannot be represented at all.
    """
    names = [each.provider for each in tool.spec.providers if each.strict]
    if not names:
        return
    from toolc.providers import load_provider  # lazy: +20 ms; few tools request strict mode

    losses = {name: load_provider(name).lower([tool.spec]).losses for name in names}
    not_strict = {name: [loss for loss in losses[name] if loss.kind == "not_strict"] for name in names}
    for loss in sorted({loss for each in not_strict.values() for loss in each}, key=lambda loss: loss.message):
        hint = "change the schema, or remove strict, which has no effect with this schema"
        yield Diagnostic(codes.STRICT, loss.message, tool.pointer_span(loss.pointer), hint)
    if any(name.startswith("openai") and not not_strict[name] for name in names):
        yield from _optional_parameters(tool)
    for pointer in sorted({loss.pointer for name in names for loss in losses[name] if loss.kind == "closed"}):
        yield Diagnostic(
            codes.STRICT, "this object is open, but strict mode requires closed objects",
            _first_key(tool, pointer), "add additionalProperties: false",
        )  # fmt: skip


def _optional_parameters(tool: LocatedTool) -> Iterator[Diagnostic]:
    required = tool.spec.parameters.required
    for entry, _ in parameters(tool):
        if entry.key not in required:
            yield Diagnostic(
                codes.STRICT, f"'{entry.key}' is optional, and OpenAI's strict mode requires every parameter",
                entry.key_span, "make it required (remove 'default' or 'optional', or add it to 'required'), "
                f"or remove strict; with strict, '{entry.key}' becomes a value or null",
            )  # fmt: skip


def _first_key(tool: LocatedTool, pointer: str) -> Span:
    """Return the span of the first key of the schema at ``pointer``. Another key can be added next to it."""
    node = tool.node_at_pointer(pointer)
    return node.entries[0].key_span if isinstance(node, Mapping) and node.entries else tool.pointer_span(pointer)


@tool_check("TC703", needs={"parameters", "providers"})
def check_choice_at_root(tool: LocatedTool) -> Iterator[Diagnostic]:
    """Report each keyword at the root of the parameters that a provider rejects.

    The lowering moves the keyword to the description, so it is enforced only when the call is validated.
    """
    schema = tool.spec.parameters.value
    is_portable = all(each.portable for each in tool.spec.providers)
    read = "a model gets it as text" if is_portable else "a model gets it as text, except from clients of MCP"
    for key in sorted(REJECTED_AT_ROOT & schema.keys()) if not REJECTED_AT_ROOT.isdisjoint(schema) else ():
        yield Diagnostic(
            codes.ROOT_CHOICE, f"providers reject '{key}' at the root of the parameters; {read}",
            tool.key_span("parameters", key),
            "make two tools, or add a parameter with an enum that selects the other parameters",
        )  # fmt: skip


@tool_check("TC709", needs={"name"})
def check_room_for_prefix(tool: LocatedTool) -> Iterator[Diagnostic]:
    """Report a name that exceeds the limit of providers once an MCP client has added its prefix."""
    if len(tool.spec.name) > MAX_NAME - PREFIX and (finding := name_finding(tool.spec.name, tool.span("name"))):
        yield finding


def name_finding(name: str, span: Span) -> Diagnostic | None:
    """Return the finding about a name that leaves too few characters for a prefix, or None."""
    left = MAX_NAME - len(name)
    if not 0 <= left < PREFIX:
        return None
    message = f"'{name}' has {len(name)} characters, which leaves {left} for the prefix that MCP clients add"
    hint = f"use at most {MAX_NAME - PREFIX}: clients send mcp__SERVER__{name}, and providers accept {MAX_NAME}"
    return Diagnostic(codes.LONG_NAME, message, span, hint)


@tool_check("TC701", needs={"parameters"})
def check_gemini_keywords(tool: LocatedTool) -> Iterator[Diagnostic]:
    """Report each keyword that restricts values and that Gemini does not accept. Off by default.

    The list is from Gemini's documentation of ``parametersJsonSchema``, as in ``toolc.providers.json_schema.keywords``.
    This check must not import that module, so a test compares the two.
    """
    for schema in all_subschemas(tool):
        for entry in schema.entries:
            if entry.key in UNSUPPORTED_BY_GEMINI:
                yield Diagnostic(
                    codes.GEMINI_KEYWORD, f"Gemini does not support '{entry.key}', so its models get it as text",
                    entry.key_span, "calls are still validated against it; add the rule to the description",
                )  # fmt: skip


@tool_check("TC705", needs={"parameters"})
def check_lossy_schemas(tool: LocatedTool) -> Iterator[Diagnostic]:
    """Report each ``oneOf``, and each ``format`` of a value that is not a number. Off by default.

    The check reads only the schema. ``loss.json`` lists everything that a provider's definition cannot represent.
    """
    for schema in all_subschemas(tool):
        if schema is not tool.node.get("parameters") and (entry := schema.entry("oneOf")):
            message = "Gemini interprets 'oneOf' as 'anyOf', so a value that matches several schemas is valid"
            hint = "write anyOf if the schemas exclude each other"
            yield Diagnostic(codes.LOSSY, message, entry.key_span, hint)
        if (entry := schema.entry("format")) and not (has_type(schema, "integer") or has_type(schema, "number")):
            message = "Gemini supports 'format' only for numbers, so its models get this one as text"
            yield Diagnostic(codes.LOSSY, message, entry.key_span, "give an example in the description")


@tool_check("TC708", needs={"parameters"})
def check_mcp_headers(tool: LocatedTool) -> Iterator[Diagnostic]:
    """Report each ``x-mcp-header`` that makes clients of MCP refuse the tool.

    In revision 2026-07-28 of MCP, this is the name of a header that repeats the argument over HTTP. It must be a token,
    unique in the tool, and in the schema of a string, integer or boolean to which only ``properties`` lead.
    """
    if not text_may_contain(tool, (MCP_HEADER,)):
        return
    allowed = {id(schema): schema for schema in _plain_properties(tool)}
    names: set[str] = set()
    for schema in all_subschemas(tool):
        entry = schema.entry(MCP_HEADER)
        if entry is None:
            continue
        name = text_of(schema, MCP_HEADER)
        if not _TOKEN.fullmatch(name):
            message, hint = "is not the name of a header", "use letters, digits and hyphens, such as Region"
        elif id(schema) not in allowed:
            message, hint = "is not in the schema of a parameter or a property of one", "move it to a parameter"
        elif text_of(schema, "type") not in {"string", "integer", "boolean"}:
            message, hint = "is not for a string, an integer or a boolean", "remove it, or change the type"
        elif name.lower() in names:
            message, hint = f"repeats the header {name!r}", "use another name; case is ignored"
        else:
            names.add(name.lower())
            continue
        text = f"this {MCP_HEADER} {message}, so MCP clients refuse the tool"
        yield Diagnostic(codes.MCP_HEADER, text, entry.key_span, hint)


def _plain_properties(tool: LocatedTool) -> Iterator[Mapping]:
    """Yield the schemas of the parameters, of their properties, and so on."""
    pending = [schema for _, schema in parameters(tool)]
    while pending:
        schema = pending.pop()
        yield schema
        properties = schema.get("properties")
        if isinstance(properties, Mapping):
            pending += [each.value for each in properties.entries if isinstance(each.value, Mapping)]
