"""The formats that findings can be printed in. A new one is a file of its own and a name here."""

from __future__ import annotations

from importlib import import_module
from typing import Final

from toolc.reporters.base import Report

FORMATS: Final = ("text", "json", "sarif", "github", "junit")
"""The names of the formats; each is a module here that has ``report(Report) -> str``."""


def render(report: Report, name: str) -> str:
    """The findings in the format ``name``, ending with a line feed; text and github are empty for none."""
    # Imported by name, so that no run pays for the formats it does not print.
    rendered = import_module(f"toolc.reporters.{name}").report(report)
    assert isinstance(rendered, str)
    return rendered
