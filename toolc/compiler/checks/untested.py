"""TC801: a tool without a test and without an example. Off: a small tool may need neither."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from toolc.compiler import codes
from toolc.compiler.decode_tool import LocatedTool
from toolc.diagnostics import Diagnostic

NUMBER: Final = "TC801"

NEEDS: Final = frozenset({"examples", "tests"})


def check(tool: LocatedTool) -> Iterator[Diagnostic]:
    """Neither ``tests`` nor ``examples``."""
    if not tool.spec.tests and not tool.spec.examples:
        yield Diagnostic(
            codes.NO_TEST, "this tool has no test and no example", tool.span("name"),
            "add 'tests', calls with what must come of them; 'toolc test' runs them in the sandbox",
        )  # fmt: skip
