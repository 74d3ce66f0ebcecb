"""Cuts what a server wrote, and marks where it did.

What is a secret only the host knows, and a piece of one is none any more: beside a mark it takes away what may be
a piece (``toolc.runtime.secrets.redaction``). Where a call has no secrets, there is no mark.
"""

from __future__ import annotations

mark = ""
"""The mark of this process's one call, which nobody could guess. The host takes it away."""


def truncate_end(text: str, size: int) -> str:
    """The first ``size`` characters."""
    return text if len(text) <= size else text[:size] + mark


def truncate_middle(text: str, limit: int) -> str:
    """Head and tail of a text that is longer than ``limit`` bytes, half each, and how much is missing between."""
    encoded = text.encode("utf-8", "replace")
    if len(encoded) <= limit:
        return text
    first, last = encoded[: limit // 2], encoded[len(encoded) - (limit - limit // 2) :]
    return "%s%s\n[%d bytes cut]\n%s%s" % (
        first.decode("utf-8", "ignore"), mark, len(encoded) - limit, mark, last.decode("utf-8", "ignore"),
    )  # fmt: skip
