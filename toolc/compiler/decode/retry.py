"""Decode ``retry``: which errors cause another attempt, the number of attempts, and the delays."""

from __future__ import annotations

from typing import Final

from toolc.compiler.decode.shell import error_kind
from toolc.document.map_reader import Findings, Reader, integer, list_of, map_parser
from toolc.document.nodes import Node
from toolc.document.units import duration
from toolc.model import codes
from toolc.model.spec.code_backends import ErrorKind
from toolc.model.spec.tool import Retry

_FINAL: Final = ("invalid_args", "denied", "cancelled")

attempts: Final = integer(2, 10)
"""Decodes the total number of attempts.

With ten attempts and the default backoff, the last one starts after eight minutes.
"""


@map_parser("'retry'")
def decode_retry(reader: Reader) -> Retry | None:
    """Decode ``retry`` of a tool."""
    standard = Retry()
    kinds = reader.default("kinds", list_of(_kind), standard.kinds)
    return Retry(
        kinds=tuple(sorted(set(kinds))),
        attempts=reader.default("attempts", attempts, standard.attempts),
        backoff_ms=reader.default("backoff", duration, standard.backoff_ms),
    )


def _kind(node: Node, what: str, findings: Findings) -> ErrorKind | None:
    kind: ErrorKind | None = error_kind(node, what, findings)
    if kind in _FINAL:
        message = f"another attempt would not prevent the error '{kind}'"
        findings.add(codes.BAD_VALUE, message, node.span, "remove it from 'kinds'")
        return None
    return kind
