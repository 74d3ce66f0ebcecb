"""Specs of the plugins and MCP servers that ``toolc import`` starts in a sandbox to ask for their tools."""

from __future__ import annotations

import os
import sys
from functools import partial
from pathlib import Path
from typing import Final

import click

from toolc.cli.common import CANNOT, print_findings
from toolc.cli.inputs import user_configuration
from toolc.compiler.decode.tool import decode
from toolc.compiler.project.files import SpecFolder
from toolc.config.secret_sources import SecretStore
from toolc.document.loader import load_data
from toolc.document.map_reader import Findings
from toolc.model.diagnostics import Diagnostics
from toolc.model.errors import UsageError
from toolc.model.spec.tool import ToolSpec
from toolc.runtime.sandboxed.options import CallOptions
from toolc.sandbox.selection import select

SCHEMA: Final = ".toolc-schema.json"

QUERY_NAME: Final = "process.yaml"
"""The name of the spec that queries a process, for findings."""


def spec_files(folder: Path, words: tuple[str, ...], patterns: tuple[str, ...]) -> list[str]:
    """Return the files of the plugin: ``patterns``, and the files next to the spec that its command names."""
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


def variable(text: str) -> tuple[str, str]:
    """Return the name and the value of ``NAME=VALUE``. Raises ``UsageError``."""
    name, sign, value = text.partition("=")
    if not sign:
        raise UsageError(f"{text!r} is not a variable; write it as NAME=VALUE")
    return name, value


def compiled_tool(text: str, folder: Path) -> ToolSpec:
    """Return the tool of a spec that is not written yet. If it has errors, print them and exit."""
    diagnostics = Diagnostics()
    document = load_data(text.encode(), folder / QUERY_NAME, QUERY_NAME, diagnostics)
    tools = decode(document, SpecFolder(folder, ""), Findings(document.source, diagnostics)) if document else ()
    if diagnostics.has_errors or not tools:
        print_findings(diagnostics, sys.stderr)
        raise click.exceptions.Exit(CANNOT)
    return tools[0].spec


def process_options(timeout: float | None, engine: str | None) -> CallOptions:
    """Return the options of the call that asks a process."""
    configuration = user_configuration()
    return CallOptions(
        select_engine=partial(select, engine or configuration.engine),
        timeout_ms=round(timeout * 1000) if timeout is not None else None,
        accept_unenforced=configuration.accept_unenforced,
        base_image=configuration.base_image,
        host_programs=configuration.host_programs,
        reveal=SecretStore(configuration.secrets).reveal,
    )


def modeline(folder: Path) -> str:
    """Return the line that names the schema for editors, in a folder above or where ``toolc init`` would put it."""
    here = folder.resolve()
    schema = next((each / SCHEMA for each in (here, *here.parents) if (each / SCHEMA).is_file()), None)
    path = os.path.relpath(schema, here) if schema else f"../{SCHEMA}"
    return f"# yaml-language-server: $schema={path}\n"
