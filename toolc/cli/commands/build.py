"""``toolc build``: compile specs to a registry and the definitions of every provider."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import click

from toolc.cli.commands.check import ignore_option, lint_settings, select_option
from toolc.cli.common import FINDINGS, central_policy, findings_format, named, note, policy_option, print_findings
from toolc.compiler.pipeline.gc_pause import gc_paused

if TYPE_CHECKING:
    from toolc.model.diagnostics import Diagnostics


@click.command("build")
@click.argument("paths", nargs=-1, required=True, callback=named, metavar="PATHS...")
@click.option("--out", metavar="DIR", help="The folder to write.  [default: the project's 'out', or build]")
@click.option("--strict", is_flag=True, help="Treat warnings as errors.")
@policy_option
@select_option
@ignore_option
@findings_format
@gc_paused()
def command(
    paths: tuple[str, ...],
    out: str | None,
    strict: bool,
    policy_file: str | None,
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    format_name: str,
) -> None:
    """Compile spec files and folders into a registry and every provider's definitions.

    If there are errors, nothing is written and the output folder does not change.
    """
    from toolc.compiler.cache.build_cache import BuildCache  # start-up time

    # A format for programs is alone on stdout; text for users then goes to stderr.
    findings, output_stream = (sys.stderr, sys.stdout) if format_name == "text" else (sys.stdout, sys.stderr)
    settings = lint_settings(select, ignore, central_policy(policy_file))
    cache = BuildCache.load([Path(path) for path in paths], settings, out)
    done = cache.previous()
    if done is not None:
        print_findings(done.diagnostics, findings, format_name)
        _refuse_warnings(done.diagnostics, strict=strict)
        _report(done.out, done.tools, done.providers, done.losses, output_stream)
        return
    from toolc.compiler.build_output import write_output  # start-up time
    from toolc.compiler.cache.changed_tools import build_changed
    from toolc.model.names import PROVIDER_NAMES

    output = build_changed(cache)
    print_findings(output.diagnostics, findings, format_name)
    if output.diagnostics.has_errors:
        raise click.exceptions.Exit(FINDINGS)
    _refuse_warnings(output.diagnostics, strict=strict)
    if not output.is_written:
        write_output(output.tools, output.names, output.toolsets, output.out)
    cache.save(output, len(PROVIDER_NAMES))
    _report(output.out, len(output.names), len(PROVIDER_NAMES), output.losses, output_stream)


def _refuse_warnings(diagnostics: Diagnostics, *, strict: bool) -> None:
    if strict and diagnostics.sorted():
        note("nothing was written: --strict treats warnings as errors")
        raise click.exceptions.Exit(FINDINGS)


def _report(out: str, tools: int, providers: int, losses: int, to: TextIO) -> None:
    print(f"built {tools} tool{'s' * (tools != 1)} for {providers} providers into {out}", file=to)
    if losses:
        note(f"providers cannot represent {losses} detail{'s' * (losses != 1)}; {out}/loss.json lists them")
