"""``toolc import``: create specs from tools that other systems describe."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from toolc.cli.commands.import_json import import_json
from toolc.cli.commands.import_mcp import import_mcp
from toolc.cli.commands.import_openapi import openapi
from toolc.cli.commands.import_python import import_python
from toolc.cli.commands.import_skill import import_skill
from toolc.cli.common import FINDINGS, duration, engine_option, note, print_findings
from toolc.cli.import_changes import apply_import, import_options, report_conflicts
from toolc.cli.main import CommandGroup
from toolc.model.errors import UsageError
from toolc.model.json_schema import JsonObject

if TYPE_CHECKING:
    from toolc.backends.plugin_protocol import Offer
    from toolc.model.spec.tool import ToolSpec


@click.group("import", cls=CommandGroup)
def command() -> None:
    """Create specs from tools that other systems describe."""


command.add_command(import_json)
command.add_command(import_mcp)
command.add_command(openapi)
command.add_command(import_python)
command.add_command(import_skill)


@command.command("plugin", short_help="Write the spec of a plugin from its own description.")
@click.argument("words", nargs=-1, required=True, type=click.UNPROCESSED, metavar="-- COMMAND...")
@click.option("--out", metavar="FILE", help="The spec file to write.  [default: NAME.yaml]")
@click.option(
    "--file", "patterns", multiple=True, metavar="PATTERN", help="Files that the plugin needs, next to the spec."
)
@click.option("--image", metavar="NAME", help="The image of the plugin.")
@click.option("--build", metavar="DIR", help="A folder with the Dockerfile of the image.")
@click.option("--env", multiple=True, metavar="NAME=VALUE", help="An environment variable.")
@click.option("--timeout", callback=duration, metavar="TIME", help="The time limit for the plugin to describe itself.")
@import_options
@engine_option
def plugin(  # noqa: PLR0913  one parameter per option
    words: tuple[str, ...],
    *,
    out: str | None,
    patterns: tuple[str, ...],
    image: str | None,
    build: str | None,
    env: tuple[str, ...],
    timeout: float | None,
    engine: str | None,
    **options: bool,
) -> None:
    """Write the spec of a plugin: a program that describes itself in JSON and serves calls line by line.

    The plugin's command runs in a sandbox without network access, never on this host. Files that the command names are
    looked up next to the spec and become part of the tool. A later import changes only what the plugin describes
    differently and keeps your edits.
    """
    from toolc.cli.process_specs import compiled_tool, modeline, spec_files, variable
    from toolc.importers.plugin_spec import plugin_spec, provisional_spec, valid_names
    from toolc.importers.record import Record, digest_of, read_record  # start-up time

    folder = Path(out).parent if out is not None else Path()
    if out is not None:
        _require_absent(Path(out), **options)
    files = spec_files(folder, words, patterns)
    sandbox: JsonObject = {key: value for key, value in (("image", image), ("build", build)) if value is not None}
    if env:
        sandbox["env"] = dict(map(variable, env))
    offer = _ask(compiled_tool(provisional_spec(words, files, sandbox), folder), timeout, engine)
    place = Path(out if out is not None else f"{valid_names([offer.tools[0].name])[0]}.yaml")
    if out is None:
        _require_absent(place, **options)
    text = modeline(folder) + plugin_spec(offer, words, files, sandbox)
    new = Record(kind="plugin", source=shlex.join(words), digest=digest_of(text.encode()), files={place.name: text})
    found = apply_import(folder, place.stem, read_record(folder, place.stem, "plugin"), new, options)
    _check(place)
    report_conflicts(found)


def _require_absent(place: Path, *, force: bool, **_: bool) -> None:
    """Before the plugin starts, raise ``UsageError`` if the file exists but no import wrote it."""
    from toolc.importers.record import FOLDER  # start-up time

    is_known = (place.parent / FOLDER / f"{place.stem}.json").is_file()
    if not force and not is_known and (place.exists() or place.is_symlink()):
        raise UsageError(f"{place} already exists; choose another file with --out, or replace it with --force")


def _ask(tool: ToolSpec, timeout: float | None, engine: str | None) -> Offer:
    from toolc.cli.process_specs import process_options
    from toolc.runtime.sandboxed.plugin_description import describe_plugin
    from toolc.sandbox.selection import close_unused, in_use  # start-up time

    options = process_options(timeout, engine)
    try:
        with in_use():
            return describe_plugin(tool, options)
    finally:
        close_unused()


def _check(place: Path) -> None:
    """Compile the written spec, and print its path and findings. Errors in it come from the plugin's description."""
    from toolc.compiler.pipeline.compile import compile_specs  # start-up time

    compilation = compile_specs([place])
    print_findings(compilation.diagnostics, sys.stderr)
    if compilation.diagnostics.has_errors:
        note(f"wrote {place}, which has errors; fix them in the spec or in the plugin")
        raise click.exceptions.Exit(FINDINGS)
    print(f"wrote {place}: {', '.join(sorted(tool.spec.name for tool in compilation.local))}")
