"""``toolc show``: one tool, whole, as it is registered."""

from __future__ import annotations

import json

import click

from toolc.registry import tool_to_json


@click.command("show")
@click.argument("target", metavar="TARGET")
@click.option("--registry", metavar="FILE", help="Take TARGET for a tool's name in this registry.")
def command(target: str, registry: str | None) -> None:
    """Show one tool as JSON, every default written out, with its two digests.

    TARGET is a spec file (SPEC#NAME where it holds several tools), or with --registry a tool's name.
    """
    from toolc.cli.target import find_tool  # noqa: PLC0415  start-up time

    tool = find_tool(target, registry)
    digests = {"surface": tool.surface_digest, "effect": tool.effect_digest}
    print(json.dumps(tool_to_json(tool.spec) | {"digests": digests}, indent=2))
