"""``toolc show``: print one tool, the permissions of a call, and its entry in the registry."""

from __future__ import annotations

import json

import click


@click.command("show")
@click.argument("target", metavar="TARGET")
@click.argument("paths", nargs=-1, metavar="[PATHS...]")
@click.option("--registry", metavar="FILE", help="Interpret TARGET as the name of a tool in this registry.")
@click.option("--effective", is_flag=True, help="Show the origin of each value, including defaults.")
@click.option("--json", "as_json", is_flag=True, help="Print the registry entry of the tool as JSON.")
def command(target: str, paths: tuple[str, ...], registry: str | None, effective: bool, as_json: bool) -> None:
    """Show a tool and the permissions of a call, with the steps that need them if the tool calls others.

    TARGET is a spec file (SPEC#NAME if it has several tools) or, with --registry, the name of a tool. With
    --effective, it is a spec file, or the name of a tool in the specs at PATHS (default: the current folder).
    """
    if effective and registry is None:
        from toolc.cli.output import tool as values  # start-up time

        located = values.find_located(target, paths)
        print(values.as_json(located) if as_json else values.effective_text(located), end="")
        return
    if paths or effective:
        raise click.ClickException(
            "--effective reads specs and cannot be used with --registry; run: toolc show NAME --effective [PATHS...]"
        )
    from toolc.cli.inputs import find_registry
    from toolc.model.call_graph import tools_by_name
    from toolc.model.permissions import permissions_of  # start-up time
    from toolc.model.registry import tool_to_json

    tools = find_registry(target, registry)
    tool = tools.registered(tools.names[0])
    granted = permissions_of(tool.spec, tools_by_name(each.spec for each in tools.parts.by_name.values()))
    if not as_json:
        from toolc.cli.output.tool import tool_text  # start-up time

        print(tool_text(tool, granted), end="")
        return
    digests = {"surface": tool.surface_digest, "effect": tool.effect_digest}
    print(json.dumps(tool_to_json(tool.spec) | {"digests": digests, "permissions": granted.to_json()}, indent=2))
