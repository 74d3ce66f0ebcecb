"""The formats in which findings are printed: one module per format.

To add a format, add a module here with a function ``report(Report) -> str``, and its name to ``FORMATS``.
"""

from __future__ import annotations

from importlib import import_module
from typing import Final

from toolc.reporters.base import Report

__all__ = [
    "FORMATS",
    "render",
]

FORMATS: Final = ("text", "json", "sarif", "github", "junit")
"""The names of the formats. Each is the name of a module in this package."""


def render(report: Report, name: str) -> str:
    """Return the findings in the format ``name``, with a final line feed; empty for text and github without
    findings.
    """
    # Imported here so that only the selected format is loaded.
    rendered: str = import_module(f"toolc.reporters.{name}").report(report)
    return rendered
