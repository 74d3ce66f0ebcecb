"""Truncate text from a server, and mark each cut.

Only the host knows the secrets, and it cannot recognize a part of one. At a mark it therefore removes text that may be
part of a secret (``toolc.runtime.secrets.redaction``). In calls without secrets, the mark is empty.
"""

from __future__ import annotations

mark = ""
"""The mark of this process's call, which cannot be guessed. The host removes it."""


def truncate_end(text: str, size: int) -> str:
    """Return the first ``size`` characters, with a mark if the text was longer."""
    return text if len(text) <= size else text[:size] + mark


def truncate_middle(text: str, limit: int) -> str:
    """Cut the middle of a text of more than ``limit`` bytes, and state there how many bytes were cut."""
    encoded = text.encode("utf-8", "replace")
    if len(encoded) <= limit:
        return text
    first, last = encoded[: limit // 2], encoded[len(encoded) - (limit - limit // 2) :]
    return "%s%s\n[%d bytes cut]\n%s%s" % (
        first.decode("utf-8", "ignore"), mark, len(encoded) - limit, mark, last.decode("utf-8", "ignore"),
    )  # fmt: skip
