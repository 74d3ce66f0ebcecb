"""``toolc catalog``: write the catalog of tools as one file of HTML."""

from __future__ import annotations

from pathlib import Path

import click

from toolc.cli.common import builtin_option, nearest_lock, note, write_text
from toolc.cli.targets import open_tools
from toolc.model.errors import UsageError
from toolc.model.text import count_noun


@click.command("catalog")
@click.argument("target", metavar="[TARGET]", required=False)
@builtin_option
@click.option("--html", "file", required=True, metavar="FILE", help="The file to write.")
@click.option(
    "--tests", "results", metavar="FILE",
    help="Results of tests to show, written by: toolc test --json",
)  # fmt: skip
def command(target: str | None, builtin: str | None, file: str, results: str | None) -> None:
    """Write one file of HTML with the tools of TARGET (a spec file, a folder of specs, or a registry.json).

    It shows what the page of 'toolc serve --http' shows about tools: permissions, limits, parameters, the definition
    for each provider, tests, and whether the nearest toolc.lock approves the tool. The file loads nothing else.
    """
    from toolc.serve.page.catalog_file import catalog_file  # start-up time
    from toolc.serve.page.reports import Sources

    path = Path(file)
    if path.is_dir():
        raise UsageError(f"--html {file}: this is a folder; name a file in it")
    registry = open_tools(target, builtin)
    source = None if target is None else Path(target.partition("#")[0])
    sources = Sources(source, nearest_lock(), Path(results) if results else None)
    html = catalog_file(sources.catalog(registry, registry.toolsets, frozenset()), sources.lock_changes())
    write_text(path, html)
    note(f"wrote {file} with {count_noun(len(registry), 'tool')}")
