"""``toolc import``: create specs from tools that other systems describe."""

from __future__ import annotations

import os
import shlex
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from toolc.cli.commands.import_json import import_json
from toolc.cli.commands.import_openapi import openapi
from toolc.cli.commands.import_python import import_python
from toolc.cli.commands.import_skill import import_skill
from toolc.cli.common import CANNOT, FINDINGS, duration, engine_option, note, print_findings
from toolc.cli.import_changes import apply_import, import_options, report_conflicts
from toolc.cli.inputs import user_configuration
from toolc.cli.main import CommandGroup
from toolc.model.errors import UsageError
from toolc.model.json_schema import JsonObject

if TYPE_CHECKING:
    from toolc.backends.plugin_protocol import Offer
    from toolc.model.spec.tool import ToolSpec


SCHEMA: Final = ".toolc-schema.json"

_QUERY_NAME: Final = "plugin.yaml"
"""The name of the spec that queries a plugin, for findings."""


@click.group("import", cls=CommandGroup)
def command() -> None:
    """Create specs from tools that other systems describe."""


command.add_command(import_json)
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

    The plugin's command runs in a sandbox without network access, never on this host. Files that the command names
    are looked up next to the spec and become part of the tool. Another import changes only what the plugin describes
    differently; edits in the file stay.
    """
    from toolc.importers.plugin_spec import plugin_spec, provisional_spec, valid_names
    from toolc.importers.record import Record, digest_of, read_record  # start-up time

    folder = Path(out).parent if out is not None else Path()
    if out is not None:
        _require_absent(Path(out), **options)
    files = _files(folder, words, patterns)
    sandbox: JsonObject = {key: value for key, value in (("image", image), ("build", build)) if value is not None}
    if env:
        sandbox["env"] = dict(map(_variable, env))
    offer = _ask(_compiled(provisional_spec(words, files, sandbox), folder), timeout, engine)
    place = Path(out if out is not None else f"{valid_names([offer.tools[0].name])[0]}.yaml")
    if out is None:
        _require_absent(place, **options)
    text = _modeline(folder) + plugin_spec(offer, words, files, sandbox)
    new = Record(kind="plugin", source=shlex.join(words), digest=digest_of(text.encode()), files={place.name: text})
    found = apply_import(folder, place.stem, read_record(folder, place.stem, "plugin"), new, options)
    _check(place)
    report_conflicts(found)


def _require_absent(place: Path, *, force: bool, **_: bool) -> None:
    """Raise ``UsageError`` if there is a file that no import has written, before the plugin is started."""
    from toolc.importers.record import FOLDER  # start-up time

    is_known = (place.parent / FOLDER / f"{place.stem}.json").is_file()
    if not force and not is_known and (place.exists() or place.is_symlink()):
        raise UsageError(f"{place} already exists; choose another file with --out, or replace it with --force")


def _files(folder: Path, words: tuple[str, ...], patterns: tuple[str, ...]) -> list[str]:
    """Return the files of the plugin: ``patterns``, and the files next to the spec that its command names."""
    from toolc.compiler.project.files import SpecFolder  # start-up time

    spec_folder = SpecFolder(folder, "")
    files = dict.fromkeys(patterns)
    for word in words:
        path = word.removeprefix("./")
        if spec_folder.has(path):
            files[path] = None
        elif not path.startswith("/") and Path(path).is_file():
            raise UsageError(
                f"{path} is not in {folder}, the folder of the spec, and the files of a tool must be next to its spec; "
                f"use --out {Path(path).with_suffix('.yaml')}, and write the command relative to that folder"
            )
    return [*files]


def _variable(text: str) -> tuple[str, str]:
    name, sign, value = text.partition("=")
    if not sign:
        raise UsageError(f"{text!r} is not a variable; write it as NAME=VALUE")
    return name, value


def _compiled(text: str, folder: Path) -> ToolSpec:
    """Return the tool of a spec that is not written yet. If it has errors, print them and exit."""
    from toolc.compiler.decode.tool import decode  # start-up time
    from toolc.compiler.project.files import SpecFolder
    from toolc.document.loader import load_data
    from toolc.document.map_reader import Findings
    from toolc.model.diagnostics import Diagnostics

    diagnostics = Diagnostics()
    document = load_data(text.encode(), folder / _QUERY_NAME, _QUERY_NAME, diagnostics)
    tools = decode(document, SpecFolder(folder, ""), Findings(document.source, diagnostics)) if document else ()
    if diagnostics.has_errors or not tools:
        print_findings(diagnostics, sys.stderr)
        raise click.exceptions.Exit(CANNOT)
    return tools[0].spec


def _ask(tool: ToolSpec, timeout: float | None, engine: str | None) -> Offer:
    from toolc.runtime.sandboxed.options import CallOptions
    from toolc.runtime.sandboxed.plugin_description import describe_plugin
    from toolc.sandbox.selection import close_unused, in_use, select  # start-up time

    configuration = user_configuration()
    options = CallOptions(
        select_engine=partial(select, engine or configuration.engine),
        timeout_ms=round(timeout * 1000) if timeout is not None else None,
        accept_unenforced=configuration.accept_unenforced,
    )
    try:
        with in_use():
            return describe_plugin(tool, options)
    finally:
        close_unused()


def _modeline(folder: Path) -> str:
    """Return the line that names the schema for editors, in a folder above or where ``toolc init`` would put it."""
    here = folder.resolve()
    schema = next((each / SCHEMA for each in (here, *here.parents) if (each / SCHEMA).is_file()), None)
    path = os.path.relpath(schema, here) if schema else f"../{SCHEMA}"
    return f"# yaml-language-server: $schema={path}\n"


def _check(place: Path) -> None:
    """Compile the written spec, and print its path and findings. Errors in it come from the plugin's description."""
    from toolc.compiler.pipeline.compile import compile_specs  # start-up time

    compilation = compile_specs([place])
    print_findings(compilation.diagnostics, sys.stderr)
    if compilation.diagnostics.has_errors:
        note(f"wrote {place}, which has errors; fix them in the spec or in the plugin")
        raise click.exceptions.Exit(FINDINGS)
    print(f"wrote {place}: {', '.join(sorted(tool.spec.name for tool in compilation.local))}")
