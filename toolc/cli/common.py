"""Options, exit codes and output functions that several commands share."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, ParamSpec, TextIO, TypeVar

import click

from toolc.model.errors import UsageError
from toolc.model.names import LOCK_NAME, engine_names
from toolc.reporters import FORMATS, render
from toolc.reporters.report_input import Report
from toolc.version import __version__

if TYPE_CHECKING:
    from toolc.model.diagnostics import Diagnostics
    from toolc.model.lock_file import Lock
    from toolc.model.spec.policy import Policy

P = ParamSpec("P")
T = TypeVar("T")

FINDINGS: Final = 1
"""The exit code of ``build``, ``check`` and ``test`` if specs have errors or tests fail."""

CANNOT: Final = 2
"""The exit code if a command could not do its work."""

_JSON: Final = "toolc.json"
"""The key in click's ``Context.meta`` for the value of ``--json``."""

_UNITS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0}


def duration(ctx: click.Context, param: click.Parameter, value: str | None) -> float | None:
    """Convert a duration as in specs (``500ms``, ``30s``, ``10m``) to seconds. This is an option callback."""
    if value is None:
        return None
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)(ms|s|m)", value)
    seconds = float(match[1]) * _UNITS[match[2]] if match else 0.0
    if not seconds:
        raise click.BadParameter(f"{value!r} is not a duration; write it as 500ms, 30s or 10m", ctx, param)
    return seconds


engine_option = click.option(
    "--engine",
    type=click.Choice(engine_names()),
    help="The sandbox engine.  [default: the engine in your configuration, or auto]",
)
"""``--engine``."""


builtin_option = click.option(
    "--builtin",
    metavar="TOOLSET",
    help="Instead of specs, use the built-in tools of this toolset, such as coding or all.",
)
"""``--builtin``, for ``open_tools`` and ``find_registry``."""


deny_option = click.option(
    "--deny",
    "denied",
    multiple=True,
    metavar="NAME|TAG",
    help="Deny the tool with this name, or all tools with this tag, even to other tools. May be repeated.",
)
"""``--deny``, for ``check_denied`` and ``deny``."""


policy_option = click.option(
    "--policy", "policy_file", metavar="FILE", help="A policy file that applies in addition to project files."
)
"""``--policy``, for ``central_policy``."""


base_option = click.option(
    "--base", metavar="REF", help="A commit or folder whose policy, lint settings and exclusions also apply."
)
"""``--base``, for ``baseline_of``."""


def central_policy(path: str | None) -> Policy | None:
    """Return the policy of ``--policy``, or None without it. Raises ``UsageError`` if it cannot be used."""
    if path is None:
        return None
    from toolc.compiler.project.policy import read_policy  # lazy: +58 ms; only --policy needs it

    return read_policy(path)


def refuse_both(paths: Sequence[str], builtin: str | None, name: str = "PATHS") -> None:
    """Raise ``UsageError`` unless the user passed either paths or ``--builtin``. The usage calls the paths ``name``."""
    if paths and builtin is not None:
        raise UsageError(f"--builtin replaces {name}; remove {paths[0]!r} or --builtin {builtin}")
    if not paths and builtin is None:
        raise UsageError(f"{name} are missing; pass specs or folders of specs, or use --builtin TOOLSET")


def nearest(names: Sequence[str], folder: Path) -> Path | None:
    """Return the nearest file with one of the names, in a folder or above it, up to the top of the repository."""
    real = folder.resolve()
    for each in (real, *real.parents):
        if found := next((each / name for name in names if (each / name).exists()), None):
            return found
        if (each / ".git").exists():
            return None
    return None


def nearest_lock() -> Path | None:
    """Return the lock file that applies in this folder, as a relative path, or None if there is none."""
    found = nearest([LOCK_NAME], Path.cwd())
    return Path(os.path.relpath(found)) if found else None


def note_any_base(lock: Lock) -> None:
    """Print a note if a lock file allows any base image for tools without an image."""
    if lock.allows_any_base:
        note(
            f"{lock.path} says base=any: tools without an image may run in any base image; to pin it: "
            "toolc lock --pin-base-image"
        )


def format_options(formats: Sequence[str], help_text: str) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Return a decorator that adds ``--format``, whose default is the first format, and ``--json`` for json."""

    def choose(ctx: click.Context, _param: click.Parameter, value: str | None) -> str:
        if not ctx.meta.get(_JSON):
            return value or formats[0]
        if value not in {None, "json"}:
            raise click.UsageError(f"--json is short for --format json and cannot be used with --format {value}", ctx)
        return "json"

    def remember(ctx: click.Context, _param: click.Parameter, value: bool) -> None:
        ctx.meta[_JSON] = value

    def add(command: Callable[P, T]) -> Callable[P, T]:
        named = click.option(
            "--format",
            "format_name",
            type=click.Choice(formats),
            callback=choose,
            help=f"{help_text}  [default: {formats[0]}]",
        )
        short = click.option(
            "--json",
            is_flag=True,
            is_eager=True,
            expose_value=False,
            callback=remember,
            help="Short for --format json.",
        )
        return named(short(command))

    return add


findings_format = format_options(FORMATS, "The format of findings. With any format but text, stdout has nothing else.")
"""``--format`` and ``--json`` of commands that print findings."""


def print_findings(diagnostics: Diagnostics, to: TextIO, format_name: str = FORMATS[0]) -> None:
    """Print findings in a format of the reporters' table. Without findings, the text format prints nothing."""
    folder, color = Path.cwd().as_posix(), wants_color(to)
    report = Report(diagnostics=diagnostics, version=__version__, folder=folder, has_pages=True, color=color)
    to.write(render(report, format_name))


def wants_color(to: TextIO) -> bool:
    """Return whether to color the output. By default, only output to a terminal is colored.

    ``NO_COLOR`` (no-color.org) has priority over ``FORCE_COLOR`` (force-color.org); empty values are ignored.
    """
    if os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or (to.isatty() and os.environ.get("TERM") != "dumb")


def note(message: str) -> None:
    """Print one line for the user on stderr."""
    print(f"toolc: {message}", file=sys.stderr)


def write_text(path: Path, text: str) -> None:
    """Replace a file atomically. Raises ``UsageError`` if it cannot be written."""
    from toolc.model.atomic_files import replace_file  # lazy: +1 ms; few commands write files

    try:
        with replace_file(path) as file:
            file.write(text.encode())
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {(error.strerror or '').lower()}") from None
