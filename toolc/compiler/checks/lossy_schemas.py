"""TC705: a part of a schema that a provider takes, and reads in another way. Off: a call is validated in any case.

What each provider's definition of a tool cannot say in full stands in the loss report of its lowering; this
is what can be told from the schema alone. What is refused is for TC701 and TC703.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from toolc.compiler import codes
from toolc.compiler.decode_tool import LocatedTool
from toolc.compiler.properties import all_subschemas, has_type
from toolc.diagnostics import Diagnostic

NUMBER: Final = "TC705"

NEEDS: Final = frozenset({"parameters"})


def check(tool: LocatedTool) -> Iterator[Diagnostic]:
    """Each ``oneOf``, and each ``format`` of what is no number."""
    for schema in all_subschemas(tool):
        if schema is not tool.node.get("parameters") and (entry := schema.entry("oneOf")):
            message = "Gemini reads 'oneOf' as 'anyOf': a value that fits several of them passes there"
            hint = "write anyOf where the choices exclude each other anyway"
            yield Diagnostic(codes.LOSSY, message, entry.key_span, hint)
        if (entry := schema.entry("format")) and not (has_type(schema, "integer") or has_type(schema, "number")):
            message = "Gemini takes 'format' of numbers only: its models read this one as words"
            yield Diagnostic(codes.LOSSY, message, entry.key_span, "give an example of the form in the description")
