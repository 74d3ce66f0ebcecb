"""What a ratio of the benchmarks is to be, as they print it."""

from __future__ import annotations


def judged(ratio: float, target: float) -> str:
    """What a ratio is to be at most, and whether it is."""
    return f"   to be {target:g} x: {'holds' if ratio <= target else 'MISSED'}"
