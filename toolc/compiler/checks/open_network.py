"""TC503: a tool that may connect to any public address; off: one that says it does and may connect to none.

MCP's default of the hint is true, so that tools which come from there say it, whatever they do.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from toolc.compiler import codes
from toolc.compiler.decode_tool import LocatedTool
from toolc.diagnostics import Diagnostic
from toolc.spec import PythonBackend, ShellBackend

NUMBER: Final = "TC503"

NEEDS: Final = frozenset({"annotations", "backend", "sandbox"})


def check(tool: LocatedTool) -> Iterator[Diagnostic]:
    """``public:443`` in an allow-list, or ``open_world: true`` where there is none."""
    allow = tool.spec.sandbox.network.allow
    if any(each.kind == "public" for each in allow):
        span = tool.span("sandbox", "network", "allow")
        yield Diagnostic(
            codes.ANY_NETWORK, "this tool may connect to any public address",
            tool.source.locate(span, "public:443"), "list the hosts it needs, such as api.example.com:443",
        )  # fmt: skip
    elif tool.spec.annotations.open_world and not allow and isinstance(
        tool.spec.backend, ShellBackend | PythonBackend
    ):  # fmt: skip
        yield Diagnostic(
            codes.NO_NETWORK, "this tool says it deals with the outside world, and it has no network",
            tool.span("annotations", "open_world"),
            "list the hosts it needs under sandbox: {network: {allow: [...]}}, or write open_world: false",
        )  # fmt: skip
