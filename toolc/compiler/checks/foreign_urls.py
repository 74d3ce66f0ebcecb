"""TC214: a URL in words for a model, which may fetch it or show it. Off by default: many are documentation.

Names that are reserved for examples (RFC 2606) are let be.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from toolc.compiler import codes
from toolc.compiler.decode_tool import LocatedTool
from toolc.diagnostics import Diagnostic

NUMBER: Final = "TC214"

NEEDS: Final = frozenset({"name", "description"})


_URL: Final = re.compile(
    r"\b(?:https?|ftp|wss?)://(?:[^\s/@]{1,100}@)?([A-Za-z0-9.-]{1,253}|\[[0-9A-Fa-f:.]+\])", re.I
)
_FOR_EXAMPLES: Final = frozenset(
    {"example.com", "example.net", "example.org", "example", "localhost", "test", "invalid"}
)


def check(tool: LocatedTool) -> Iterator[Diagnostic]:
    """The first URL of each description that leads to a real host."""
    for each in tool.visible:
        if each.role != "prose" or "://" not in each.text:
            continue
        for match in _URL.finditer(each.text):
            host = match[1].lower().rstrip(".")
            if not _is_within(host, _FOR_EXAMPLES.union(tool.hosts)):
                message = f"{each.what} names a URL of '{host}'"
                hint = f"say in words what stands there, or let it be with lint: {{hosts: [{host}]}} in toolc.yaml"
                yield Diagnostic(codes.FOREIGN_URL, message, each.place(tool.source, match[0]), hint)
                break


def _is_within(host: str, domains: frozenset[str]) -> bool:
    labels = host.split(".")
    return any(".".join(labels[index:]) in domains for index in range(len(labels)))
