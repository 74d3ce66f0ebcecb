"""``toolc show``: one tool, what it may do, and all that is registered of it."""

from __future__ import annotations

import json

import click


@click.command("show")
@click.argument("target", metavar="TARGET")
@click.argument("paths", nargs=-1, metavar="[PATHS...]")
@click.option("--registry", metavar="FILE", help="Take TARGET for a tool's name in this registry.")
@click.option("--effective", is_flag=True, help="Show where each value comes from, defaults among them.")
@click.option("--json", "as_json", is_flag=True, help="Print all that is registered, as JSON.")
def command(target: str, paths: tuple[str, ...], registry: str | None, effective: bool, as_json: bool) -> None:
    """Show what one tool is and may do; for one that calls others, with the step that brings it.

    TARGET is a spec file (SPEC#NAME where it holds several tools), or with --registry a tool's name. With
    --effective it is a spec file, or the name of a tool in the specs at PATHS (the current folder if none).
    """
    if effective and registry is None:
        from toolc.cli.output import tool as values  # start-up time

        tool = values.find_located(target, paths)
        print(values.as_json(tool) if as_json else values.effective_text(tool), end="")
        return
    if paths or effective:
        raise click.ClickException("--effective is about specs: show NAME --effective [PATHS...], no --registry")
    from toolc.cli.arguments import find_registry
    from toolc.model.call_graph import tools_by_name
    from toolc.model.permissions import permissions_of  # start-up time
    from toolc.model.registry import tool_to_json

    found = find_registry(target, registry)
    shown = found.registered(found.names[0])
    others = tools_by_name(each.spec for each in found.parts.by_name.values())
    granted = permissions_of(shown.spec, others)
    if not as_json:
        from toolc.cli.output.tool import tool_text  # start-up time

        print(tool_text(shown, granted), end="")
        return
    digests = {"surface": shown.surface_digest, "effect": shown.effect_digest}
    print(json.dumps(tool_to_json(shown.spec) | {"digests": digests, "permissions": granted.to_json()}, indent=2))
