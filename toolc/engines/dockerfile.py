"""What a spec's own Dockerfile may not ask of the daemon."""

from __future__ import annotations

import re
from typing import Final

_CONTINUED: Final = re.compile(rb"[\\`][ \t]*\r?\n(?:[ \t]*#[^\n]*\n)*")
_ADD: Final = re.compile(rb"^[ \t]*(?:ONBUILD[ \t]+)?ADD[ \t]+([^\n]*)$", re.IGNORECASE | re.MULTILINE)
_ADDRESS: Final = re.compile(rb"://|git@|\$")
"""A variable may hold one."""


def fetched(dockerfile: bytes) -> str | None:
    """What an ``ADD`` has the daemon fetch, which has the host's own network; None if there is no such line."""
    for line in _ADD.findall(_CONTINUED.sub(b"", dockerfile)):
        if _ADDRESS.search(line):
            return bytes(line).decode("utf-8", "backslashreplace").strip()
    return None
