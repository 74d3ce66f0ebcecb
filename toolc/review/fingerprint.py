"""What makes a change the same change in the next commit: its rule, its tool, and what it did; never its line.

Its grade and its message are part of it: an ``enum`` may lose one value and gain another, and whoever accepts the
one has not accepted the other.
"""

from __future__ import annotations

import hashlib
import json
from typing import Final

from toolc.review.change import Change

_LENGTH: Final = 12
"""Hex digits of a fingerprint: short enough to be written by hand, and 48 bits are enough for one review."""


def fingerprint(tool: str, change: Change) -> str:
    """The fingerprint of a change of the tool called ``tool``."""
    known = [change.rule, tool, [*change.path], change.grade, change.message, change.before, change.after]
    return hashlib.sha256(json.dumps(known).encode()).hexdigest()[:_LENGTH]
