"""Decode ``limits`` of a sandbox and of a policy."""

from __future__ import annotations

import re
from typing import Final

from toolc.document.declared import read_keys
from toolc.document.map_reader import Findings, Reader, mapping, mismatch
from toolc.document.nodes import Node, Scalar
from toolc.document.units import duration
from toolc.model import codes
from toolc.model.spec.sandbox import Limits

STANDARD: Final = Limits()

MIN_TIMEOUT_MS: Final = 100
"""Ten times the duration of a Python function that does nothing, which leaves a reserve for busy machines."""


def decode_limits(node: Node, what: str, findings: Findings, of: str) -> Limits | None:
    """Decode a map of limits. A missing limit has its default. ``of`` names the map in findings."""
    map_node = mapping(node, what, findings)
    if map_node is None:
        return None
    reader = Reader(map_node, of, findings)
    limits = Limits(**read_keys(reader, Limits, timeout_ms=_timeout, cpus=_cpus))
    reader.close()
    return limits


def _timeout(node: Node, what: str, findings: Findings) -> int | None:
    timeout_ms = duration(node, what, findings)
    if timeout_ms is not None and timeout_ms < MIN_TIMEOUT_MS:
        message = f"{what} is too short for any call: {timeout_ms}ms"
        findings.add(codes.BAD_VALUE, message, node.span, f"write {MIN_TIMEOUT_MS}ms or more")
        return None
    return timeout_ms


def _cpus(node: Node, what: str, findings: Findings) -> float | None:
    value = node.value if isinstance(node, Scalar) else None
    # The kernel limits a group to at least a hundredth, and no machine has more processors.
    if isinstance(value, int | float) and not isinstance(value, bool) and 0.01 <= value <= 1024:
        return float(value)
    thousandths = re.fullmatch(r"([0-9]{1,6})m", str(value))  # as in Kubernetes
    hint = f"write {int(thousandths[1]) / 1000:g}" if thousandths else ""
    mismatch(node, what, "a number of processors from 0.01 to 1024, such as 0.5", findings, hint)
    return None
