"""TC204: a description that is missing, or too short to tell a model when to use the tool; off: one that is long.

Below 12 characters there is room for hardly more than the name again. 1,024 is where OpenAI's API has been seen to
refuse a function; of the public definitions that we measured 4 in 100 are longer, and used.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from toolc.compiler import codes
from toolc.compiler.decode_tool import LocatedTool
from toolc.diagnostics import Diagnostic

NUMBER: Final = "TC204"

NEEDS: Final = frozenset({"description"})

SHORTEST: Final = 12
LONGEST: Final = 1024

_HINT: Final = "say what it does, when to use it and when not to; a model chooses by these words"


def check(tool: LocatedTool) -> Iterator[Diagnostic]:
    """A missing, short or long description."""
    length = len(tool.spec.description.strip())
    if length == 0:
        where = tool.span("description") if tool.node.get("description") else tool.span("name")
        yield Diagnostic(codes.DESCRIPTION, "this tool has no description", where, _HINT)
    elif length < SHORTEST:
        message = f"a description of {length} characters tells a model little"
        yield Diagnostic(codes.DESCRIPTION, message, tool.span("description"), _HINT)
    elif length > LONGEST:
        message = f"a description of {length} characters is refused by some providers, which take {LONGEST}"
        yield Diagnostic(codes.LONG_DESCRIPTION, message, tool.span("description"), "shorten it")
