"""``toolc catalog``: write the catalog of tools as one file of HTML."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from toolc.cli.common import builtin_option, nearest_lock, note, write_text
from toolc.cli.inputs import open_tools
from toolc.model.errors import UsageError
from toolc.model.text import count_noun

if TYPE_CHECKING:
    from toolc.client.registry import Registry
    from toolc.serve.page.reports import Sources


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
    from toolc.serve.page.reports import Sources  # start-up time

    path = Path(file)
    if path.is_dir():
        raise UsageError(f"--html {file}: this is a folder; name a file in it")
    registry = open_tools(target, builtin)
    source = Path(target.partition("#")[0]) if target is not None else None
    specs = source if source is not None and source.suffix != ".json" else None
    recorded = None if results is None else Path(results)
    write_text(path, _html(registry, Sources(specs=specs, lock=nearest_lock(), results=recorded)))
    note(f"wrote {file} with {count_noun(len(registry), 'tool')}")


def _html(registry: Registry, sources: Sources) -> str:
    from toolc.model.lock_file import Lock
    from toolc.runtime.execution.admission import ReviewedTools
    from toolc.serve.page.catalog import Catalog
    from toolc.serve.page.catalog_file import catalog_file
    from toolc.serve.page.reports import by_tool
    from toolc.testing.recorded_results import RecordedResults  # start-up time

    catalog = Catalog(
        tools=[registry.registered(name) for name in registry.names],
        others=ReviewedTools(registry.called),
        toolsets=registry.toolsets,
        lock=Lock.read(sources.lock) if sources.lock else None,
        results=RecordedResults.read(sources.results) if sources.results else None,
    )
    return catalog_file(catalog, by_tool(sources.lock_changes()))
