"""What several commands share: options, findings on a stream, and where tools come from."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final, TextIO

import click

from toolc.engines.select import engine_names

if TYPE_CHECKING:
    from toolc.api import Registry
    from toolc.compiler.compile import Compilation
    from toolc.diagnostics import Diagnostics

FINDINGS: Final = 1
"""The exit code of ``build``, ``check`` and ``test`` where specs have errors or tests fail."""

CANNOT: Final = 2
"""The exit code where a command could not do what was asked."""

_UNITS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0}


def duration(ctx: click.Context, param: click.Parameter, value: str | None) -> float | None:
    """An option's callback: a duration as specs write it, ``500ms``, ``30s`` or ``10m``, in seconds."""
    if value is None:
        return None
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)(ms|s|m)", value)
    seconds = float(match[1]) * _UNITS[match[2]] if match else 0.0
    if not seconds:
        raise click.BadParameter(f"{value!r} is no duration; write it like 500ms, 30s or 10m", ctx, param)
    return seconds


engine_option = click.option(
    "--engine",
    type=click.Choice(engine_names()),
    default=engine_names()[0],
    show_default=True,
    help="What makes the sandbox.",
)
"""``--engine``: the names come from the engines' own table."""


def compile_or_exit(paths: tuple[str, ...], *, to: TextIO, code: int) -> Compilation:
    """Compile specs, print every finding, and leave with ``code`` if there are errors."""
    from toolc.compiler.compile import compile_specs  # noqa: PLC0415  not every command compiles

    compilation = compile_specs([Path(path) for path in paths])
    print_findings(compilation.diagnostics, to)
    if compilation.diagnostics.has_errors:
        raise click.exceptions.Exit(code)
    return compilation


def open_registry(target: str) -> Registry:
    """A registry file, or specs compiled on the way; ``TARGET#NAME`` takes one tool. Findings go to stderr."""
    from toolc.api import Registry, split_target  # noqa: PLC0415  start-up time

    source, name = split_target(target)
    if source.suffix == ".json":
        return Registry.load(target)
    registry = Registry.compiled(compile_or_exit((str(source),), to=sys.stderr, code=CANNOT))
    return registry if name is None else registry.only(name)


def print_findings(diagnostics: Diagnostics, to: TextIO) -> None:
    """Findings with the source lines they are about; nothing where there are none."""
    from toolc.reporters.text import render  # noqa: PLC0415  start-up time

    to.write(render(diagnostics, color=to.isatty() and _wants_color(os.environ)))


def _wants_color(environment: Mapping[str, str]) -> bool:
    """Whether the person has not asked for plain text (no-color.org), and the terminal can do more."""
    return not environment.get("NO_COLOR") and environment.get("TERM") != "dumb"


def note(message: str) -> None:
    """One line for the person, beside the output."""
    print(f"toolc: {message}", file=sys.stderr)


def printable(text: str) -> str:
    """``text`` for a terminal: what could move its cursor or reorder its lines is escaped, as ``\\x1b``."""
    return "".join(
        character
        if character.isprintable() or character in "\n\t"
        else character.encode("unicode_escape").decode("ascii")
        for character in text
    )
