"""Charts of CSV files, drawn without a display."""

from __future__ import annotations

from typing import Any

import matplotlib
import pandas as pd

matplotlib.use("Agg")


def plot_csv(path: str, x: str, y: str, kind: str) -> Any:
    """A figure, which becomes an image in the result."""
    frame = pd.read_csv(path)
    for column in (x, y):
        if column not in frame.columns:
            raise ValueError(f"there is no column {column!r}; the columns are {', '.join(frame.columns)}")
    return frame.plot(x=x, y=y, kind=kind, title=f"{y} by {x}").get_figure()
