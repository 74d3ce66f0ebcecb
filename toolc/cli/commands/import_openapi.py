"""``toolc import openapi``: create specs from the operations of an OpenAPI document."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

import click

from toolc.cli.common import note
from toolc.cli.import_changes import (
    LeftOutPart,
    apply_import,
    checked,
    conclude,
    import_options,
    name_options,
    renamed,
    report_left_out,
    texts,
)
from toolc.model.errors import UsageError
from toolc.model.json_schema import JsonObject
from toolc.model.text import render_size

if TYPE_CHECKING:
    from toolc.importers.openapi.generate import Generated, Options
    from toolc.importers.openapi.source import Document, Fetch
    from toolc.importers.record import Record

_LISTS: Final = ("only", "exclude", "rename", "server_variable")


@click.command("openapi", short_help="Write specs for the operations of an OpenAPI document.")
@click.argument("source", metavar="FILE|URL")
@click.option("--out", metavar="DIR", help="The folder of the specs.  [default: specs/NAME]")
@click.option("--name", metavar="NAME", help="The name of the import.  [default: from the title of the document]")
@click.option("--only", multiple=True, metavar="NAME", help="A tag, an operation or a pattern to import. Repeatable.")
@click.option("--exclude", multiple=True, metavar="NAME", help="A tag, an operation or a pattern to leave out.")
@click.option("--read-only", is_flag=True, help="Only operations that change nothing (GET, HEAD and OPTIONS).")
@click.option("--all", "is_all", is_flag=True, help="All operations, even if there are more than 60.")
@click.option("--server", metavar="URL", help="The URL of the service. [default: from the document]")
@click.option("--server-variable", multiple=True, metavar="NAME=VALUE", help="A variable in the URL of the server.")
@click.option("--toolsets", is_flag=True, help="Write a toolset for each tag to the project file.")
@click.option("--allow-ref", multiple=True, metavar="HOST", help="A host from which references may be read.")
@name_options
@import_options
def openapi(**options: object) -> None:
    """Write one spec for each operation of an OpenAPI document, to be reviewed like any other spec.

    A later import applies only the changes of the document and keeps your edits.
    """
    from toolc.importers.openapi.generate import check_version, name_of
    from toolc.importers.openapi.source import MAX_DOCUMENT, Document
    from toolc.importers.record import read_record  # start-up time

    source = str(options["source"])
    fetch = _fetcher(source, texts(options["allow_ref"]), MAX_DOCUMENT)
    data = fetch(source)
    _report_progress(data, f"reading {render_size(len(data))}; places in it have no line numbers")
    document = Document.of(data, source, fetch)
    check_version(document)
    name = str(options["name"] or name_of(document))
    folder = Path(str(options["out"])) if options["out"] else Path("specs", name)
    record = read_record(folder, name, "openapi")
    _run(document, folder, name, record, _chosen(options, record), options)


def _chosen(options: Mapping[str, object], record: Record | None) -> JsonObject:
    """Return the options on the command line or, if there are none, the options of the last import."""
    given: JsonObject = {key: [*texts(options[key])] for key in _LISTS if options[key]}
    given |= {key: True for key in ("read_only", "is_all") if options[key]}
    given |= {key: str(options[key]) for key in ("server", "prefix") if options[key]}
    return given or (record.options if record else {})


def _options(name: str, chosen: JsonObject) -> Options:
    from toolc.cli.process_specs import variable
    from toolc.importers.openapi.generate import Options
    from toolc.importers.openapi.operations import Choice
    from toolc.importers.openapi.servers import Server  # start-up time

    choice = Choice(
        only=texts(chosen.get("only")), exclude=texts(chosen.get("exclude")),
        is_read_only=chosen.get("read_only") is True, is_all=chosen.get("is_all") is True,
    )  # fmt: skip
    server = Server(str(chosen.get("server", "")), dict(map(variable, texts(chosen.get("server_variable")))))
    return Options(
        name=name, choice=choice, server=server, prefix=str(chosen.get("prefix", "")), renamed=renamed(chosen)
    )


def _run(
    document: Document,
    folder: Path,
    name: str,
    record: Record | None,
    chosen: JsonObject,
    options: Mapping[str, object],
) -> None:
    from toolc.importers.openapi.generate import generate
    from toolc.importers.record import Record, digest_of  # start-up time

    names = record.names if record and record.options.get("prefix") == chosen.get("prefix") else {}
    generated = generate(document, _options(name, chosen), names)
    _report_progress(document.data, f"checking the specs of {len(generated.files):,} operations")
    _leave_out_invalid(folder, generated)
    _report_left_out(document, generated)
    if not generated.files:
        raise UsageError(f"no operation of {document.base} can be imported, for the reasons above")
    source = document.base if urlsplit(document.base).scheme in {"http", "https"} else Path(document.base).name
    new = Record(
        kind="openapi", source=source, digest=digest_of(document.data), options=chosen, names=generated.names,
        files=generated.files,
    )  # fmt: skip
    found = apply_import(folder, name, record, new, options)
    if options["toolsets"]:
        _write_toolsets(generated)
    conclude(folder, "operation", len(generated.files), len(generated.left_out), found)


def _report_progress(data: bytes, text: str) -> None:
    """Print the current step if the document is so large that steps take seconds."""
    from toolc.importers.openapi.source import MAX_WITH_POSITIONS  # start-up time

    if len(data) > MAX_WITH_POSITIONS:
        note(text)


def _leave_out_invalid(folder: Path, generated: Generated) -> None:
    """Leave out the operations whose specs have errors."""
    from toolc.importers.openapi.generate import LeftOut  # start-up time

    for file, reason in checked(folder, generated.files).items():
        operation = generated.operations[file]
        generated.left_out.append(LeftOut(operation=operation, reason=reason, tokens=operation.tokens))
        del generated.names[operation.key]


def _report_left_out(document: Document, generated: Generated) -> None:
    from toolc.importers.openapi.source import Positions  # start-up time

    positions = Positions(document)
    report_left_out(
        [LeftOutPart(each.operation.key, each.reason, positions.describe(each.tokens)) for each in generated.left_out]
    )


def _write_toolsets(generated: Generated) -> None:
    """Write the tools of each tag to ``toolsets`` of the project file, which is created if there is none."""
    from toolc.importers.merge import edited
    from toolc.importers.yaml_text import yaml_text  # start-up time

    toolsets: dict[str, list[str]] = {}
    for file, operation in generated.operations.items():
        for tag in operation.tags if file in generated.files else ():
            stem = "_".join("".join(each if each.isalnum() else " " for each in tag.lower()).split())
            toolsets.setdefault(stem or "tools", []).append(file.removesuffix(".yaml"))
    place = Path("toolc.yaml")
    text = place.read_text(encoding="utf-8") if place.is_file() else ""
    value: JsonObject = {name: [*sorted(tools)] for name, tools in sorted(toolsets.items())}
    if not text.strip():
        place.write_text(yaml_text({"toolsets": value}), encoding="utf-8")
        return
    new = edited(text, ("toolsets",), value) if "toolsets:" not in text else text
    for tag, tools in value.items() if "toolsets:" in text else ():
        new = edited(new, ("toolsets", tag), tools) if new is not None else None
    if new is None:
        raise UsageError(f"'toolsets' of {place} cannot be edited; write it in block style")
    place.write_text(new, encoding="utf-8")


def _fetcher(source: str, allowed: tuple[str, ...], max_bytes: int) -> Fetch:
    """Return a function that reads the source and the documents that it may refer to."""
    from toolc.importers.fetching import destination_of, fetch  # start-up time

    is_url = source.startswith(("http://", "https://"))
    allow = [destination_of(each if "://" in each else f"https://{each}") for each in allowed]
    allow += [destination_of(source)] if is_url else []
    root = Path(source).resolve().parent

    def read(place: str) -> bytes:
        if place.startswith(("http://", "https://")):
            return fetch(place, allow, max_bytes)
        path = Path(place).resolve()
        if is_url or urlsplit(place).scheme or not path.is_relative_to(root):
            raise UsageError(f"{place[:200]} is not below the folder of the document")
        try:
            with path.open("rb") as file:
                return file.read(max_bytes + 1)
        except OSError as error:
            raise UsageError(f"{place} cannot be read: {error.strerror}") from None

    return read
