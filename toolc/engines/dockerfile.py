"""What a spec's own Dockerfile may not ask of the daemon."""

from __future__ import annotations

import re
from typing import Final

_CONTINUED: Final = re.compile(rb"[\\`][ \t]*\r?\n(?:[ \t]*#[^\n]*\n)*")
_ADD: Final = re.compile(rb"^[ \t]*(?:ONBUILD[ \t]+)?ADD[ \t]+([^\n]*)$", re.IGNORECASE | re.MULTILINE)
_ADDRESS: Final = re.compile(rb"://|git@|\$")
"""A variable may hold one."""

_STEP: Final = re.compile(
    rb"^[ \t]*(?:ARG[ \t]+(?P<name>\w+)=(?P<value>\S*)"
    rb"|FROM[ \t]+(?:--\S+[ \t]+)*(?P<image>\S+)(?:[ \t]+AS[ \t]+(?P<stage>\S+))?)",
    re.IGNORECASE | re.MULTILINE,
)
_VARIABLE: Final = re.compile(rb"\$(?:(\w+)|\{(\w+)\})")


def fetched(dockerfile: bytes) -> str | None:
    """What an ``ADD`` has the daemon fetch, which has the host's own network; None if there is no such line."""
    for line in _ADD.findall(_CONTINUED.sub(b"", dockerfile)):
        if _ADDRESS.search(line):
            return bytes(line).decode("utf-8", "backslashreplace").strip()
    return None


def bases(dockerfile: bytes, base: str) -> tuple[str, ...]:
    """The images that a Dockerfile starts from, each once; ``base`` is what its ``ARG BASE`` is given."""
    variables = {b"BASE": base.encode()}
    found: dict[bytes, None] = {}
    stages: set[bytes] = {b"scratch"}
    for step in _STEP.finditer(_CONTINUED.sub(b"", dockerfile)):
        if step["name"]:
            # Of arguments, only those before the first image can name one.
            if not found:
                variables.setdefault(step["name"], step["value"].strip(b"\"'"))
            continue
        image = _VARIABLE.sub(lambda match: variables.get(match[1] or match[2], b""), step["image"].strip(b"\"'"))
        if image.lower() not in stages:
            found[image] = None
        stages.add((step["stage"] or b"").lower())
    return tuple(image.decode("utf-8", "backslashreplace") for image in found)
