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
from toolc.compiler.edits import fix, insert_item
from toolc.diagnostics import Diagnostic, Fix
from toolc.schema import JsonObject, JsonValue
from toolc.source import Span
from toolc.spec import Argv, ShellBackend, WhenGroup
from toolc.template import Template, as_text

NUMBER: Final = "TC403"

NEEDS: Final = frozenset({"backend", "parameters"})

_END_OF_OPTIONS: Final = Template(("--",))


def check(tool: LocatedTool) -> Iterator[Diagnostic]:
    """Each lone argument of which a declared value starts with '-'."""
    backend = tool.spec.backend
    if not isinstance(backend, ShellBackend) or not isinstance(backend.command, Argv):
        return
    properties = tool.spec.parameters.properties
    if not any(map(_dashed_value, properties.values())):
        return
    mended = False  # one '--' is for all that stands after it
    for template, route in _before_end_of_options(backend.command):
        placeholder = template.sole
        if placeholder is None or placeholder.keys or placeholder.filters or placeholder.name in backend.allow_dash:
            continue
        dashed = _dashed_value(properties.get(placeholder.name, {}))
        if dashed is not None:
            span = tool.span(*route)
            yield Diagnostic(
                codes.LEADING_DASH,
                f"'{placeholder.name}' may be {dashed}, and a call with it is refused: it looks like an option",
                span,
                f"put '--' before it, or if the program needs no '--' write allow_dash: [{placeholder.name}]",
                None if mended else _fix(tool, backend.command, template, span),
            )
            mended = True


def _fix(tool: LocatedTool, argv: Argv, template: Template, span: Span) -> Fix | None:
    """``--`` before the argument, unless options come after it: these would become arguments too."""
    elements = [
        each for group in argv.elements for each in (group.argv if isinstance(group, WhenGroup) else (group,))
    ]
    later = elements[elements.index(template) + 1 :]
    if any(isinstance(part, str) and part.startswith("-") for each in later for part in each.parts[:1]):
        return None
    return fix("put '--' before it", insert_item(tool.source, span, "--"))


def _before_end_of_options(argv: Argv) -> Iterator[tuple[Template, tuple[str | int, ...]]]:
    """Each argument that a program may take for an option, and its route."""
    for index, element in enumerate(argv.elements):
        route = ("backend", "shell", "argv", index)
        if element == _END_OF_OPTIONS:
            return
        if isinstance(element, Template):
            yield element, route
        elif _END_OF_OPTIONS not in element.argv:
            yield from ((each, (*route, "argv", inner)) for inner, each in enumerate(element.argv))


def _dashed_value(schema: JsonObject) -> str | None:
    if schema.get("type") == "array":
        items = schema.get("items")
        schema = items if isinstance(items, dict) else {}
    enum = schema.get("enum")
    values: list[JsonValue] = [
        *(enum if isinstance(enum, list) else ()),
        schema.get("const"),
        schema.get("default"),
    ]
    for value in values:
        if isinstance(value, str | int | float) and str(value).startswith("-"):
            return repr(as_text(value))
    for bound in (schema.get("minimum"), schema.get("exclusiveMinimum")):
        if isinstance(bound, int | float) and bound < 0:
            return "a negative number"
    return None
