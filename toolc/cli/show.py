"""``toolc show``: one tool, whole, as it is registered."""

from __future__ import annotations

import json

import click

from toolc.registry import tool_to_json


@click.command("show")
@click.argument("target", metavar="TARGET")
@click.argument("paths", nargs=-1, metavar="[PATHS...]")
@click.option("--registry", metavar="FILE", help="Take TARGET for a tool's name in this registry.")
@click.option("--effective", is_flag=True, help="Show where each value comes from, defaults among them.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON; without --effective it is JSON anyway.")
def command(target: str, paths: tuple[str, ...], registry: str | None, effective: bool, as_json: bool) -> None:
    """Show one tool as JSON, every default written out, with its two digests.

    TARGET is a spec file (SPEC#NAME where it holds several tools), or with --registry a tool's name. With
    --effective it is a spec file, or the name of a tool in the specs at PATHS (the current folder if none).
    """
    if effective and registry is None:
        from toolc.cli import effective as values  # start-up time

        tool = values.find_located(target, paths)
        print(values.as_json(tool) if as_json else values.as_text(tool), end="")
        return
    if paths or effective:
        raise click.ClickException("--effective is about specs: show NAME --effective [PATHS...], no --registry")
    from toolc.cli.target import find_tool  # start-up time

    registered = find_tool(target, registry)
    digests = {"surface": registered.surface_digest, "effect": registered.effect_digest}
    print(json.dumps(tool_to_json(registered.spec) | {"digests": digests}, indent=2))
