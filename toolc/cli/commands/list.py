"""``toolc list``: list the tools of a registry or of specs."""

from __future__ import annotations

import json

import click

from toolc.cli.inputs import open_registry
from toolc.reporters.text import escape_for_terminal


@click.command("list")
@click.argument("target", metavar="TARGET")
@click.option("--json", "as_json", is_flag=True, help="Print names, labels and descriptions as JSON.")
def command(target: str, as_json: bool) -> None:
    """List the tools of TARGET: a spec file, a folder of them, or a registry.json."""
    tools = tuple(open_registry(target))
    if as_json:
        rows = [{"name": tool.name, "label": tool.label, "description": tool.description} for tool in tools]
        print(json.dumps(rows, indent=2, ensure_ascii=False))
        return
    width = max((len(tool.name) for tool in tools), default=0)
    for tool in tools:
        print(f"{tool.name:<{width}}  {escape_for_terminal(tool.label or ' '.join(tool.description.split())[:100])}")
