"""TC311: ``{type: object}`` and nothing more: a model has to guess what to put in."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from toolc.compiler import codes
from toolc.compiler.decode_tool import LocatedTool
from toolc.compiler.document import Mapping
from toolc.compiler.properties import has_type, parameters, says
from toolc.diagnostics import Diagnostic
from toolc.schema import JsonObject

NUMBER: Final = "TC311"

NEEDS: Final = frozenset({"parameters"})


_SAYS_WHAT: Final = (
    "properties", "additionalProperties", "patternProperties", "propertyNames", "unevaluatedProperties", "$ref",
    "enum", "const", "anyOf", "oneOf", "allOf", "required", "if",
)  # fmt: skip


def check(tool: LocatedTool) -> Iterator[Diagnostic]:
    """Each parameter that is such an object, or a list of them."""
    may_be = any(map(_may_be_free, tool.spec.parameters.properties.values()))
    for entry, schema in parameters(tool) if may_be else ():
        items = schema.get("items")
        inner = items if has_type(schema, "array") and isinstance(items, Mapping) else schema
        if has_type(inner, "object") and not says(inner, *_SAYS_WHAT):
            kind = inner.get("type")
            assert kind is not None
            what = f"'{entry.key}'" if inner is schema else f"each item of '{entry.key}'"
            message = f"{what} is an object of which nothing is said"
            hint = "name its keys under properties, or say what its values are with additionalProperties"
            yield Diagnostic(codes.FREE_FORM, message, kind.span, hint)


def _may_be_free(schema: JsonObject) -> bool:
    """A glance: most parameters are strings and numbers."""
    kind = schema.get("type")
    return isinstance(kind, list) or kind in {"object", "array"}
