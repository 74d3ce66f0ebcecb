"""``toolc build``: compile specs to a registry and the definitions of every provider."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import click

from toolc.cli.commands.check import ignore_option, lint_settings, select_option
from toolc.cli.common import (
    FINDINGS,
    builtin_option,
    central_policy,
    findings_format,
    note,
    policy_option,
    print_findings,
    refuse_both,
)
from toolc.compiler.pipeline.gc_pause import gc_paused
from toolc.model.names import PROVIDER_NAMES
from toolc.model.text import count_noun

if TYPE_CHECKING:
    from toolc.cli.output.loss_report import BuildReport
    from toolc.client.typed.generate import ClientFile
    from toolc.model.diagnostics import Diagnostics


@click.command("build")
@click.argument("paths", nargs=-1, metavar="PATHS...")
@builtin_option
@click.option("--out", metavar="DIR", help="The folder to write.  [default: the project's 'out', or build]")
@click.option("--strict", is_flag=True, help="Treat warnings as errors.")
@click.option(
    "--client",
    "clients",
    multiple=True,
    metavar="LANG:PATH",
    help="Also write a typed client: python:PATH (TypedDict), pydantic:PATH or typescript:PATH. May be repeated.",
)
@click.option(
    "--losses", is_flag=True, help="Print what each provider cannot represent, with the position in the spec."
)
@click.option(
    "--provider",
    "providers",
    multiple=True,
    type=click.Choice(PROVIDER_NAMES),
    help="Apply --losses and --fail-on only to this provider, and fail if tools exceed its limits. May be repeated.",
)
@click.option(
    "--fail-on",
    type=click.Choice(["loss"]),
    help="Exit with status 1 if a provider cannot represent a parameter exactly.",
)
@policy_option
@select_option
@ignore_option
@findings_format
@gc_paused()
def command(  # noqa: PLR0913, PLR0917  one parameter per option
    paths: tuple[str, ...],
    builtin: str | None,
    out: str | None,
    strict: bool,
    clients: tuple[str, ...],
    losses: bool,
    providers: tuple[str, ...],
    fail_on: str | None,
    policy_file: str | None,
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    format_name: str,
) -> None:
    """Compile spec files and folders, or the tools of --builtin, into a registry and every provider's definitions.

    If there are errors, the output folder does not change.
    """
    from toolc.compiler.cache.answers import Inputs  # start-up time
    from toolc.compiler.cache.cached_build import store_build, unchanged_build

    # With a format for programs, stdout has nothing else, and text for users goes to stderr.
    findings, output_stream = (sys.stderr, sys.stdout) if format_name == "text" else (sys.stdout, sys.stderr)
    refuse_both(paths, builtin)
    client_files = _parse_clients(clients)
    if builtin is not None:
        from toolc.cli.targets import compiled_builtin  # start-up time
        from toolc.client.build import write_build

        out = out or "build"
        compiled = compiled_builtin(builtin, central_policy(policy_file))
        built = write_build(compiled, out)
        _write_clients(client_files, out)
        _report(out, len(built.names), len(built.providers), built.losses, output_stream)
        report = _provider_report(providers, losses=losses, fail_on=fail_on)
        report.of_new_build(out, built.names, compiled.toolsets, output_stream)
        return
    settings, places = lint_settings(select, ignore, central_policy(policy_file)), [Path(path) for path in paths]
    inputs = Inputs.read(["build", out], places, settings)
    done = unchanged_build(inputs)
    if done is not None:
        print_findings(done.diagnostics, findings, format_name)
        _refuse_warnings(done.diagnostics, strict=strict)
        _write_clients(client_files, done.out)
        _report(done.out, done.tools, len(PROVIDER_NAMES), done.losses, output_stream)
        if providers or losses or fail_on:
            _provider_report(providers, losses=losses, fail_on=fail_on).of_unchanged_build(done.out, output_stream)
        return
    from toolc.compiler.build_output import write_output  # start-up time
    from toolc.compiler.pipeline.parallel_build import compile_and_render

    compilation, rendered = compile_and_render(places, settings, inputs.contents or {})
    print_findings(compilation.diagnostics, findings, format_name)
    if compilation.diagnostics.has_errors:
        raise click.exceptions.Exit(FINDINGS)
    _refuse_warnings(compilation.diagnostics, strict=strict)
    out = out or (os.path.relpath(compilation.out) if compilation.out else "build")
    built = write_output(rendered, [tool.name for tool in compilation.tools], compilation.toolsets, out)
    store_build(inputs, compilation, out, built.losses)
    _write_clients(client_files, out)
    _report(out, len(built.names), len(built.providers), built.losses, output_stream)
    report = _provider_report(providers, losses=losses, fail_on=fail_on)
    report.of_new_build(out, built.names, compilation.toolsets, output_stream)


def _provider_report(providers: tuple[str, ...], *, losses: bool, fail_on: str | None) -> BuildReport:
    from toolc.cli.output.loss_report import BuildReport  # start-up time

    return BuildReport(providers=providers, prints_losses=losses, fails_on_loss=fail_on is not None)


def _parse_clients(values: Sequence[str]) -> list[ClientFile]:
    if not values:
        return []
    from toolc.client.typed.generate import parse_clients  # start-up time

    return parse_clients(values)


def _write_clients(clients: Sequence[ClientFile], out: str) -> None:
    """Write typed clients for the registry that this build wrote to ``out``, or found there unchanged."""
    if not clients:
        return
    from toolc.client.typed.generate import write_clients  # start-up time
    from toolc.compiler.build_output import REGISTRY_NAME
    from toolc.model.registry_io import read_registry

    write_clients(clients, read_registry(Path(out) / REGISTRY_NAME).tools, Path(out))


def _refuse_warnings(diagnostics: Diagnostics, *, strict: bool) -> None:
    if strict and diagnostics.sorted():
        note("nothing was written: --strict treats warnings as errors")
        raise click.exceptions.Exit(FINDINGS)


def _report(out: str, tools: int, providers: int, losses: int, to: TextIO) -> None:
    print(f"built {count_noun(tools, 'tool')} for {providers} providers into {out}", file=to)
    if losses:
        note(f"providers cannot represent {count_noun(losses, 'detail')}; {out}/loss.json lists them")
