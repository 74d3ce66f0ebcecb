"""TC803: a deprecation that does not say what to use instead, nor that there is nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from toolc.compiler import codes
from toolc.compiler.decode_tool import LocatedTool
from toolc.diagnostics import Diagnostic

NUMBER: Final = "TC803"

NEEDS: Final = frozenset({"deprecated"})

# Words that lead to what comes instead, a date by which it goes, or a name with an underscore: a tool's.
_SAYS: Final = (  # compiled where a tool is deprecated: start-up time
    r"\b(?:call|instead|merged|moved|prefer|renamed|replace[ds]?|replacement|see|successor|superseded|switch|try|use)\b"
    r"|\b(?:after|by|from|in|on|until)\s+(?:\w+\s+)?20[0-9]{2}\b|\b20[0-9]{2}-[0-9]{2}|\w_\w|[a-z]-[a-z]|`[^`]+`"
)


def check(tool: LocatedTool) -> Iterator[Diagnostic]:
    """A ``deprecated`` text that leads nowhere."""
    text = tool.spec.deprecated
    if text is not None and not re.search(_SAYS, text, re.IGNORECASE):
        yield Diagnostic(
            codes.NO_REPLACEMENT, "this does not say what to use instead", tool.span("deprecated"),
            "a model reads it: write e.g. 'use find_text instead', or when it goes and that nothing replaces it",
        )  # fmt: skip
