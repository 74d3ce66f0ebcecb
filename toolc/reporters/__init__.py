"""The formats of findings, with one module per format. A new format needs a module here that has
``report(Report) -> str``, and its name in ``FORMATS``.

- ``github``: workflow commands of GitHub Actions.
- ``json``: one JSON object.
- ``junit``: JUnit XML.
- ``report_input``: ``Report``, the input of every format: selection, counts, limit per file. Start reading here.
- ``sarif``: SARIF 2.1.0 with fingerprints, for code scanning.
- ``text``: for terminals: source lines with carets, colors, width, escaping of control characters. Public:
  ``escape_for_terminal``, ``printable``, ``render``.

May import: ``data`` and ``model``.
"""

from __future__ import annotations

from importlib import import_module
from typing import Final

from toolc.reporters.report_input import Report

FORMATS: Final = ("text", "json", "sarif", "github", "junit")
"""The names of the formats. Each is the name of a module here."""


def render(report: Report, name: str) -> str:
    """Return the findings in the format ``name``, with a final line feed. Text and github are empty for no findings."""
    # Imported on demand: a run imports only the format that it prints.
    rendered: str = import_module(f"toolc.reporters.{name}").report(report)
    return rendered
