"""``toolc show``: print one tool, the permissions of a call, and its entry in the registry or for a provider."""

from __future__ import annotations

import json

import click

from toolc.cli.common import builtin_option
from toolc.model.names import PROVIDER_NAMES


@click.command("show")
@click.argument("target", metavar="TARGET")
@click.argument("paths", nargs=-1, metavar="[PATHS...]")
@click.option("--registry", metavar="FILE", help="Take the tool TARGET from this registry.")
@builtin_option
@click.option("--effective", is_flag=True, help="Show the origin of each value, including defaults.")
@click.option("--json", "as_json", is_flag=True, help="Print the registry entry of the tool as JSON.")
@click.option(
    "--as", "provider", type=click.Choice((*PROVIDER_NAMES, "openapi")), help="Print the definition for this provider."
)
def command(
    target: str,
    paths: tuple[str, ...],
    registry: str | None,
    builtin: str | None,
    effective: bool,
    as_json: bool,
    provider: str | None,
) -> None:
    """Show a tool and the permissions of a call. If the tool calls other tools, show which steps need each permission.

    TARGET is a spec file (SPEC#NAME if it has several tools) or, with --registry or --builtin, the name of a tool.
    With --effective or --as, TARGET can be the name of a tool in the specs at PATHS (default: the current folder).
    """
    if provider is not None:
        from toolc.cli.output.tool_text import definition_text, find_in_set  # start-up time

        if effective or as_json:
            raise click.ClickException("--as cannot be combined with --effective or --json; remove one of them")
        print(definition_text(*find_in_set(target, paths, registry, builtin), provider), end="")
        return
    if effective and registry is None and builtin is None:
        from toolc.cli.output import tool_text as values  # start-up time

        located, _ = values.find_located(target, paths)
        print(values.as_json(located) if as_json else values.effective_text(located), end="")
        return
    if paths or effective:
        raise click.ClickException(
            "--effective reads specs and cannot be used with --registry or --builtin, and PATHS need --effective or "
            "--as; run: toolc show NAME --effective [PATHS...]"
        )
    from toolc.cli.targets import find_registry
    from toolc.model.call_graph import tools_by_name
    from toolc.model.permissions import permissions_of  # start-up time
    from toolc.model.registry import tool_to_json

    tools = find_registry(target, registry, builtin)
    tool = tools.registered(tools.names[0])
    granted = permissions_of(tool.spec, tools_by_name(each.spec for each in tools.parts.by_name.values()))
    if not as_json:
        from toolc.cli.output.tool_text import tool_text  # start-up time

        print(tool_text(tool, granted), end="")
        return
    digests = {"surface": tool.surface_digest, "effect": tool.effect_digest}
    print(json.dumps(tool_to_json(tool.spec) | {"digests": digests, "permissions": granted.to_json()}, indent=2))
