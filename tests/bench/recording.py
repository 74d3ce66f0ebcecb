"""Store and print the figures of one part."""

from collections.abc import Sequence

from figures import Figure, Latency, Part, Rate, Single, Skipped, machine
from page import write


def record(name: str, calls: int, figures: Sequence[Figure]) -> None:
    """Store the figures of a part, write the page again, and print both."""
    Part(name=name, machine=machine(), calls=calls, figures=tuple(figures)).save()
    page = write(Part.load_all())
    print(f"\n{name}:")
    for each in figures:
        print(f"  {_line(each)}")
    print(f"  written to {page}")


def _line(figure: Figure) -> str:
    match figure:
        case Latency():
            return (
                f"{figure.subject:28} p50 {figure.p50:9.2f}  p95 {figure.p95:9.2f}  p99 {figure.p99:9.2f} ms"
                f"  ({figure.calls} calls, {figure.callers} at a time)"
            )
        case Rate():
            return f"{figure.subject:28} {figure.per_second:8.1f} calls/s  {figure.ratio:6.2f} x {figure.base}"
        case Single():
            return f"{figure.name}: {figure.value:.3g}" + (f"  ({figure.details})" if figure.details else "")
        case Skipped():
            return f"{figure.subject}: not measured: {figure.reason}"
