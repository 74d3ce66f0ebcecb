"""``toolc list``: list the tools of a registry or of specs."""

from __future__ import annotations

import json
from typing import Final

import click

from toolc.cli.inputs import open_registry
from toolc.reporters.text import escape_for_terminal

_WIDTH: Final = 100
"""The maximum number of characters of a description."""


@click.command("list")
@click.argument("target", metavar="TARGET")
@click.option("--json", "as_json", is_flag=True, help="Print names, labels and descriptions as JSON.")
def command(target: str, as_json: bool) -> None:
    """List the tools of TARGET: a spec file, a folder of them, or a registry.json.

    The columns are name, label and description.
    """
    tools = tuple(open_registry(target))
    if as_json:
        rows = [{"name": tool.name, "label": tool.label, "description": tool.description} for tool in tools]
        print(json.dumps(rows, indent=2, ensure_ascii=False))
        return
    columns = [(tool.name, " ".join((tool.label or "").split()), _shortened(tool.description)) for tool in tools]
    widths = [max((len(each[index]) for each in columns), default=0) for index in (0, 1)]
    for name, label, description in columns:
        print(escape_for_terminal(f"{name:<{widths[0]}}  {label:<{widths[1]}}  {description}".rstrip()))


def _shortened(description: str) -> str:
    """Return the start of a description, on one line."""
    text = " ".join(description.split())
    return text if len(text) <= _WIDTH else f"{text[: _WIDTH - 1]}…"
