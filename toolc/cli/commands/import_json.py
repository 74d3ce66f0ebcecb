"""``toolc import json``: create specs from tool definitions for a provider."""

from __future__ import annotations

from pathlib import Path

import click

from toolc.cli.common import note
from toolc.cli.import_changes import apply_import, conclude, import_options
from toolc.model.errors import UsageError


@click.command("json", short_help="Write specs for the tool definitions of a provider.")
@click.argument("source", metavar="FILE")
@click.option("--out", default="specs", show_default=True, metavar="DIR", help="The folder of the specs.")
@import_options
def import_json(source: str, out: str, **options: bool) -> None:
    """Write one spec for each tool definition in a JSON file. The specs have no backends. You add them."""
    from toolc.importers.definitions import definition_specs
    from toolc.importers.record import Record, digest_of, read_record
    from toolc.model.json_schema import decode_json  # start-up time

    path, folder = Path(source), Path(out)
    try:
        data = path.read_bytes()
        value = decode_json(data)
    except OSError as error:
        raise UsageError(f"{source} cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise UsageError(f"{source} is not JSON: {error}") from None
    files = definition_specs(value)
    new = Record(kind="json", source=path.name, digest=digest_of(data), files=files)
    found = apply_import(folder, path.stem, read_record(folder, path.stem, "json"), new, options)
    note("write the 'backend' of each new spec; until then, a build fails")
    conclude(folder, "tool", len(files), 0, found)
