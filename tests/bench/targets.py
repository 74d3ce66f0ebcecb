"""The targets of the ratios in the benchmarks."""


def judged(ratio: float, target: float) -> str:
    """Return the maximum of a ratio, and whether it is met."""
    return f"   to be {target:g} x: {'holds' if ratio <= target else 'MISSED'}"
