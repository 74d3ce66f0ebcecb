"""TC208: a tool without a label. Off by default: a model does not need it, people who are asked to confirm do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from toolc.compiler import codes
from toolc.compiler.decode_tool import LocatedTool
from toolc.diagnostics import Diagnostic

NUMBER: Final = "TC208"

NEEDS: Final = frozenset({"name", "label"})


def check(tool: LocatedTool) -> Iterator[Diagnostic]:
    """A tool without ``label``."""
    if tool.spec.label is None:
        message = f"'{tool.spec.name}' has no label"
        yield Diagnostic(codes.LABEL, message, tool.span("name"), "add label: with a few words for people")
