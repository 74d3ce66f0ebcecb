"""TC403: values that the spec itself names and that a call would be refused for, since they start with '-'.

A lone argument that starts with ``-`` could be taken for an option, so at a call it is refused unless
``--`` stands before it or ``allow_dash`` names the parameter. Only what is certain is reported: a
default, an enum, a constant, or a number that may be negative.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from toolc.compiler import codes
from toolc.compiler.decode_tool import LocatedTool
from toolc.diagnostics import Diagnostic
from toolc.schema import JsonObject, JsonValue
from toolc.source import Span
from toolc.spec import Argv, ShellBackend
from toolc.template import Template, as_text

NEEDS: Final = frozenset({"backend", "parameters"})

_END_OF_OPTIONS: Final = Template(("--",))


def check(tool: LocatedTool) -> Iterator[Diagnostic]:
    """Each lone argument of which a declared value starts with '-'."""
    backend = tool.spec.backend
    if not isinstance(backend, ShellBackend) or not isinstance(backend.command, Argv):
        return
    properties = tool.spec.parameters.properties
    for template, span in _before_end_of_options(tool, backend.command):
        placeholder = template.sole
        if placeholder is None or placeholder.keys or placeholder.filters or placeholder.name in backend.allow_dash:
            continue
        dashed = _dashed_value(properties.get(placeholder.name, {}))
        if dashed is not None:
            yield Diagnostic(
                codes.LEADING_DASH,
                f"'{placeholder.name}' may be {dashed}, and a call with it is refused: it looks like an option",
                span,
                f"put '--' before it, or if the program needs no '--' write allow_dash: [{placeholder.name}]",
            )


def _before_end_of_options(tool: LocatedTool, argv: Argv) -> Iterator[tuple[Template, Span]]:
    for index, element in enumerate(argv.elements):
        route = ("backend", "shell", "argv", index)
        if element == _END_OF_OPTIONS:
            return
        if isinstance(element, Template):
            yield element, tool.span(*route)
        elif _END_OF_OPTIONS not in element.argv:
            yield from ((each, tool.span(*route, "argv", inner)) for inner, each in enumerate(element.argv))


def _dashed_value(schema: JsonObject) -> str | None:
    items = schema.get("items")
    if schema.get("type") == "array":
        schema = items if isinstance(items, dict) else {}
    enum = schema.get("enum")
    values: list[JsonValue] = [
        *(enum if isinstance(enum, list) else ()),
        schema.get("const"),
        schema.get("default"),
    ]
    for value in values:
        if value is not None and as_text(value).startswith("-"):
            return repr(as_text(value))
    for bound in (schema.get("minimum"), schema.get("exclusiveMinimum")):
        if isinstance(bound, int | float) and bound < 0:
            return "a negative number"
    return None
