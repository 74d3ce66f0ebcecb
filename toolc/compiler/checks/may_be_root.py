"""TC506: a tool that does not refuse to run as root. Off: where no root is near, it never does."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from toolc.compiler import codes
from toolc.compiler.decode_tool import LocatedTool
from toolc.diagnostics import Diagnostic

NUMBER: Final = "TC506"

NEEDS: Final = frozenset({"sandbox"})


def check(tool: LocatedTool) -> Iterator[Diagnostic]:
    """A workspace, whose owner may be root, without ``run_as: nonroot``."""
    if tool.spec.sandbox.workspace != "none" and tool.spec.sandbox.run_as is None:
        yield Diagnostic(
            codes.MAY_BE_ROOT, "this tool runs as root where root owns the workspace",
            tool.span("sandbox", "workspace"), "add run_as: nonroot under 'sandbox'",
        )  # fmt: skip
