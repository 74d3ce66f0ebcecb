"""``toolc build``: from specs to a registry and every provider's definitions."""

from __future__ import annotations

import sys

import click

from toolc.cli.common import FINDINGS, compile_or_exit, note


@click.command("build")
@click.argument("paths", nargs=-1, required=True, metavar="PATHS...")
@click.option("--out", default="build", show_default=True, metavar="DIR", help="The folder to write.")
@click.option("--strict", is_flag=True, help="Take warnings for errors.")
def command(paths: tuple[str, ...], out: str, strict: bool) -> None:
    """Compile spec files, and folders of them, into a registry and every provider's definitions.

    Nothing is written while there is an error, and what the folder held stays whole.
    """
    from toolc.api import write_build  # noqa: PLC0415  start-up time

    compilation = compile_or_exit(paths, to=sys.stderr, code=FINDINGS)
    if strict and compilation.diagnostics.sorted():
        note("nothing was written: --strict takes warnings for errors")
        raise click.exceptions.Exit(FINDINGS)
    built = write_build(compilation, out)
    count = len(built.names)
    print(f"built {count} tool{'s' * (count != 1)} for {len(built.providers)} providers into {out}")
    if lost := built.losses:
        note(f"providers cannot say {lost} detail{'s' * (lost != 1)} of parameters; {out}/loss.json lists them")
