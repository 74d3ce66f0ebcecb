r"""What of a pattern only Python reads, for TC310.

JSON Schema's patterns are ECMAScript's. ``(?P<n>)``, ``\A`` and ``(?i)`` are Python's own, and ``a{,3}``
is three times at most to Python and those very characters to ECMAScript.
"""

from __future__ import annotations

import re
from typing import Final

_TOKEN: Final = re.compile(
    r"(?P<anchor>\\[AZ])|\\."
    r"|\[\^?\]?(?:\\.|[^\]\\])*\]"
    r"|(?P<group>\(\?P[<=>])|(?P<flags>\(\?[aiLmsux]+(?:-[imsx]+)?[:)])|(?P<comment>\(\?\#)|(?P<condition>\(\?\()"
    r"|(?P<atomic>\(\?>)|(?P<possessive>[*+?}]\+)|(?P<upto>\{,[0-9]+\})",
    re.DOTALL,
)
_ADVICE: Final = {
    "anchor": "use ^ and $",
    "group": "use a plain group, which all languages read",
    "flags": "write the letters of both cases, e.g. [Aa]",
    "comment": "leave the comment out",
    "condition": "write both cases with |",
    "atomic": "use a plain group",
    "possessive": "use a plain quantifier",
    "upto": "write the 0, as in {0,3}",
}


def python_only(pattern: str) -> tuple[str, str] | None:
    """The first part of a pattern that is Python's own and what to write instead; None where there is none."""
    for token in _TOKEN.finditer(pattern):
        if token.lastgroup:
            return token[0], _ADVICE[token.lastgroup]
    return None
