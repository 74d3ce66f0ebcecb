"""TC301: a parameter without a description.

Off by default: of 939 parameters of a public catalogue 45 have none.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from toolc.compiler import codes
from toolc.compiler.decode_tool import LocatedTool
from toolc.compiler.properties import parameters, says, text_of
from toolc.diagnostics import Diagnostic

NUMBER: Final = "TC301"

NEEDS: Final = frozenset({"parameters"})


def check(tool: LocatedTool) -> Iterator[Diagnostic]:
    """Each parameter of which nothing is said in words."""
    for entry, schema in parameters(tool):
        if not text_of(schema, "description").strip() and not says(schema, "$ref"):
            message = f"the parameter '{entry.key}' has no description"
            hint = "say what it is, in which form or unit, with an example"
            yield Diagnostic(codes.PARAMETER_DESCRIPTION, message, entry.key_span, hint)
