"""Decimal numbers among the choices of a schema that were meant as text: ``enum: [3.9, 3.10]`` offers 3.1."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from toolc.document.edits import quote_plain
from toolc.document.map_reader import Findings, quoting
from toolc.document.nodes import Mapping, Scalar, Sequence
from toolc.model import codes

_ENDS_IN_ZERO: Final = re.compile(r"[-+]?[0-9]+\.[0-9]*0")


def check_decimals(schema: Mapping, findings: Findings) -> None:
    """Report each decimal choice of ``schema`` that cannot be what was meant."""
    kind = schema.get("type")
    wanted = kind.value if isinstance(kind, Scalar) else None
    # A union may take either, and a number's type says that a number is meant.
    if kind is not None and wanted != "string":
        return
    for choice in _choices(schema):
        written = findings.written(choice.span)
        if wanted == "string":
            message = f"{written} without quotes is a number, and this schema takes text"
        elif _ENDS_IN_ZERO.fullmatch(written):
            message = f"{written} without quotes is the number {choice.value:.15g}"
        else:
            continue
        mended = quote_plain(findings.source, choice.span)
        findings.add(codes.DECIMAL_CHOICE, message, choice.span, quoting(choice, findings), mended)


def _choices(schema: Mapping) -> Iterator[Scalar]:
    enum = schema.get("enum")
    for node in (*(enum.items if isinstance(enum, Sequence) else ()), schema.get("const")):
        if isinstance(node, Scalar) and isinstance(node.value, float):
            yield node
