"""TC505: a tool that says it only reads, with a workspace that it can write to."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from toolc.compiler import codes
from toolc.compiler.decode_tool import LocatedTool
from toolc.diagnostics import Diagnostic

NUMBER: Final = "TC505"

NEEDS: Final = frozenset({"annotations", "sandbox"})


def check(tool: LocatedTool) -> Iterator[Diagnostic]:
    """``read_only: true`` beside a workspace that is neither ``none`` nor ``ro``, and whose changes may be kept."""
    mode, transaction = tool.spec.sandbox.workspace, tool.spec.sandbox.transaction
    thrown_away = transaction is not None and transaction.commit == "never"
    if tool.spec.annotations.read_only and mode not in {"none", "ro"} and not thrown_away:
        yield Diagnostic(
            codes.READ_ONLY_WRITES, f"this tool says it only reads, and it can write: its workspace is '{mode}'",
            tool.span("sandbox", "workspace"), "write workspace: ro, or read_only: false",
        )  # fmt: skip
