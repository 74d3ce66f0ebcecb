"""``toolc list``: list the tools of a registry or of specs, and estimate their tokens."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

import click

from toolc.cli.common import builtin_option
from toolc.cli.targets import open_tools
from toolc.model.names import PROVIDER_NAMES
from toolc.model.text import count_noun, shorten
from toolc.reporters.text import escape_for_terminal

if TYPE_CHECKING:
    from toolc.client.registry import Registry

_WIDTH: Final = 100
"""The maximum number of characters of a description. With a name before it, the line fits a wide terminal."""


@click.command("list")
@click.argument("target", metavar="[TARGET]", required=False)
@builtin_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--tokens", is_flag=True, help="Estimate how many tokens each tool and toolset adds to a request.")
@click.option(
    "--as",
    "provider",
    type=click.Choice(PROVIDER_NAMES),
    help="With --tokens, count the definitions for this provider.  [default: anthropic]",
)
def command(target: str | None, builtin: str | None, as_json: bool, tokens: bool, provider: str | None) -> None:
    """List the tools of TARGET (a spec file, a folder of specs, or a registry.json), or of --builtin.

    The columns are name, label and description. With --tokens, they are the estimated tokens and the name, with the
    largest first.
    """
    registry = open_tools(target, builtin)
    if tokens:
        _print_tokens(registry, provider, as_json=as_json)
        return
    if provider is not None:
        raise click.UsageError("--as selects the definitions that --tokens counts; add --tokens, or remove --as")
    tools = tuple(registry)
    if as_json:
        rows = [{"name": tool.name, "label": tool.label, "description": tool.description} for tool in tools]
        print(json.dumps(rows, indent=2, ensure_ascii=False))
        return
    columns = [(tool.name, " ".join((tool.label or "").split()), _shortened(tool.description)) for tool in tools]
    widths = [max((len(each[index]) for each in columns), default=0) for index in (0, 1)]
    for name, label, description in columns:
        print(escape_for_terminal(f"{name:<{widths[0]}}  {label:<{widths[1]}}  {description}".rstrip()))


def _print_tokens(registry: Registry, provider: str | None, *, as_json: bool) -> None:
    from toolc.providers.token_estimate import ESTIMATED_FOR, definition_tokens  # start-up time

    provider = provider or ESTIMATED_FOR
    tools = tuple(registry)
    counted = dict(zip((tool.name for tool in tools), definition_tokens(tools, provider), strict=True))
    members = {
        name: {registry.registered(each).spec.name for each in each_set} for name, each_set in registry.toolsets.items()
    }
    toolsets = {name: sum(counted[each] for each in names) for name, names in members.items()}
    total = sum(counted.values())
    if as_json:
        found = {"provider": provider, "tools": counted, "toolsets": toolsets, "total": total}
        print(json.dumps(found, indent=2, ensure_ascii=False))
        return
    rows = sorted(((count, name) for name, count in counted.items()), key=lambda row: (-row[0], row[1]))
    rows += [(count, f"toolset {name} ({count_noun(len(members[name]), 'tool')})") for name, count in toolsets.items()]
    rows.append((total, count_noun(len(tools), "tool")))
    width = len(str(max(count for count, _ in rows)))
    for count, name in rows:
        print(escape_for_terminal(f"{count:>{width}}  {name}"))


def _shortened(description: str) -> str:
    """Return the start of a description, on one line."""
    return shorten(" ".join(description.split()), _WIDTH)
