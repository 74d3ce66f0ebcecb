"""A bar chart as SVG, with a logarithmic scale."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final
from xml.sax.saxutils import escape

WIDTH: Final = 760
LABEL: Final = 210
ROW: Final = 26
TOP: Final = 44
BAR: Final = 14
FONT: Final = 'font-family="sans-serif" font-size="12"'


def bars(title: str, values: Sequence[tuple[str, float, float, bool]]) -> str:
    """Return a chart of labels with a median, a 95th percentile, and whether to highlight them.

    The bar ends at the median, and a line at the 95th percentile.
    """
    low = min(each[1] for each in values) / 1.5
    high = max(each[2] for each in values) * 1.5
    height = TOP + ROW * len(values) + 24

    def place(value: float) -> float:
        return LABEL + (WIDTH - LABEL - 60) * math.log(value / low) / math.log(high / low)

    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" {FONT}>',
        f"<title>{escape(title)}</title>",
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
        f'<text x="12" y="22" font-size="14" fill="#222222">{escape(title)}</text>',
    ]
    for power in range(math.ceil(math.log10(low)), math.floor(math.log10(high)) + 1):
        x = place(10.0**power)
        lines.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{TOP - 6}" y2="{height - 22}" stroke="#dddddd"/>')
        lines.append(f'<text x="{x:.1f}" y="{height - 8}" text-anchor="middle" fill="#666666">{10.0**power:g} x</text>')
    for number, (label, median, late, is_ours) in enumerate(values):
        y = TOP + ROW * number
        color = "#3f51b5" if is_ours else "#9e9e9e"
        lines += [
            f'<text x="{LABEL - 8}" y="{y + 12}" text-anchor="end" fill="#222222">{escape(label)}</text>',
            f'<rect x="{LABEL}" y="{y}" width="{max(place(median) - LABEL, 1):.1f}" height="{BAR}" fill="{color}"/>',
            f'<rect x="{LABEL}" y="{y + BAR / 2 - 1}" width="{place(late) - LABEL:.1f}" height="2" fill="{color}"/>',
            f'<text x="{place(late) + 6:.1f}" y="{y + 12}" fill="#222222">{median:.3g}</text>',
        ]
    return "\n".join([*lines, "</svg>", ""])
