"""TC209: two tools with nearly the same description: a model that chooses by them has to guess.

How descriptions are compared stands in ``wording``. Two that share their sentences and differ in a word of their
names (``list_branches``, ``list_labels``) are told apart by it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from toolc.compiler import codes
from toolc.compiler.decode_tool import LocatedTool
from toolc.compiler.twins import find_twins
from toolc.compiler.wording import WORDINGS, Described
from toolc.diagnostics import Diagnostic

NUMBER: Final = "TC209"


DAMAGES: Final = frozenset({"name", "description"})
"""The keys without which two descriptions cannot be compared."""


def check(tools: Sequence[LocatedTool]) -> Iterator[Diagnostic]:
    """Each tool whose description is nearly that of an earlier one."""
    readable = sorted((tool for tool in tools if not tool.damaged & DAMAGES), key=lambda tool: tool.path)
    described = [Described(tool.spec.name, tool.wording, tool.spec.description) for tool in readable]
    for number, twin in find_twins(described, WORDINGS):
        tool, other = readable[number], readable[twin]
        name = other.spec.name
        message = f"this description is nearly that of '{name}', the tool at {other.span('name')}"
        hint = f"say what sets '{tool.spec.name}' apart from '{name}'"
        yield Diagnostic(codes.SIMILAR_DESCRIPTION, message, tool.span("description"), hint)
