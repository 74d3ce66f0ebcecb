"""TC308: a string, list or number without a bound that reaches a command, a script or a URL. Off by default."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from toolc.compiler import codes
from toolc.compiler.decode_tool import LocatedTool
from toolc.compiler.properties import has_type, parameters, says
from toolc.diagnostics import Diagnostic
from toolc.spec import PythonBackend

NUMBER: Final = "TC308"

NEEDS: Final = frozenset({"backend", "parameters"})


_ELSEWHERE: Final = ("enum", "const", "$ref", "anyOf", "oneOf", "allOf")


def check(tool: LocatedTool) -> Iterator[Diagnostic]:
    """Each such parameter; a Python function checks its own."""
    if isinstance(tool.spec.backend, PythonBackend):
        return
    for entry, schema in parameters(tool):
        if says(schema, *_ELSEWHERE):
            continue
        missing = ""
        if has_type(schema, "string") and not says(schema, "maxLength", "pattern", "format"):
            missing = "maxLength"
        elif has_type(schema, "array") and not says(schema, "maxItems"):
            missing = "maxItems"
        elif has_type(schema, "integer") or has_type(schema, "number"):
            upper = says(schema, "maximum", "exclusiveMaximum")
            lower = says(schema, "minimum", "exclusiveMinimum")
            missing = "" if upper and lower else "minimum" if upper else "maximum"
        if missing:
            message = f"nothing bounds the parameter '{entry.key}'"
            yield Diagnostic(
                codes.UNBOUNDED, message, entry.key_span, f"add {missing}, or list the values under enum"
            )
