"""``toolc build``: from specs to a registry and every provider's definitions."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import click

from toolc.cli.common import FINDINGS, compile_or_exit, format_option, note
from toolc.cli.lint import chosen, ignore_option, select_option

if TYPE_CHECKING:
    from toolc.compiler.compile import Compilation


@click.command("build")
@click.argument("paths", nargs=-1, required=True, metavar="PATHS...")
@click.option("--out", metavar="DIR", help="The folder to write.  [default: the project's 'out', or build]")
@click.option("--strict", is_flag=True, help="Take warnings for errors.")
@select_option
@ignore_option
@format_option
def command(
    paths: tuple[str, ...],
    out: str | None,
    strict: bool,
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    format_name: str,
) -> None:
    """Compile spec files, and folders of them, into a registry and every provider's definitions.

    Nothing is written while there is an error, and what the folder held stays whole.
    """
    from toolc.api import write_build  # start-up time

    # A format for programs has stdout to itself; what people read of a build then goes to stderr.
    findings, said = (sys.stderr, sys.stdout) if format_name == "text" else (sys.stdout, sys.stderr)
    compilation = compile_or_exit(
        paths, to=findings, code=FINDINGS, format_name=format_name, settings=chosen(select, ignore)
    )
    if strict and compilation.diagnostics.sorted():
        note("nothing was written: --strict takes warnings for errors")
        raise click.exceptions.Exit(FINDINGS)
    out = out or _out(compilation)
    built = write_build(compilation, out)
    count = len(built.names)
    print(f"built {count} tool{'s' * (count != 1)} for {len(built.providers)} providers into {out}", file=said)
    if lost := built.losses:
        note(f"providers cannot say {lost} detail{'s' * (lost != 1)}; {out}/loss.json lists them")


def _out(compilation: Compilation) -> str:
    folder = compilation.out
    return os.path.relpath(folder) if folder else "build"
