"""TC410: an HTTP tool that does not say what its service's errors mean. Off: the standard kinds often do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from toolc.compiler import codes
from toolc.compiler.decode_tool import LocatedTool
from toolc.diagnostics import Diagnostic

NUMBER: Final = "TC410"

NEEDS: Final = frozenset({"backend"})


def check(tool: LocatedTool) -> Iterator[Diagnostic]:
    """``backend.http`` without ``errors``."""
    backend = tool.spec.backend
    if backend.tag == "http" and not backend.errors:
        yield Diagnostic(
            codes.UNMAPPED_STATUS, "this tool does not say what its service's error statuses mean",
            tool.key_span("backend", "http"), 'add errors: [{status: "404", kind: not_found}]',
        )  # fmt: skip
