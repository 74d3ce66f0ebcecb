"""``toolc check``: all that ``build`` does but write."""

from __future__ import annotations

import sys

import click

from toolc.cli.common import FINDINGS, compile_or_exit


@click.command("check")
@click.argument("paths", nargs=-1, required=True, metavar="PATHS...")
@click.option("--strict", is_flag=True, help="Take warnings for errors.")
def command(paths: tuple[str, ...], strict: bool) -> None:
    """Report everything that is wrong with spec files, and folders of them.

    Reads text only and never runs what it reads: safe on a stranger's pull request.
    """
    compilation = compile_or_exit(paths, to=sys.stdout, code=FINDINGS)
    if strict and compilation.diagnostics.sorted():
        raise click.exceptions.Exit(FINDINGS)
    count = len(compilation.tools)
    print(f"{count} tool{'s' * (count != 1)}: no errors")
