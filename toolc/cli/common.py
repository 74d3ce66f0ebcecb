"""Options, output of findings, and loading of tools, shared by several commands."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final, ParamSpec, TextIO, TypeVar

import click

from toolc.model.names import engine_names
from toolc.model.version import __version__
from toolc.reporters import FORMATS, render
from toolc.reporters.base import FindingPage, Report

if TYPE_CHECKING:
    from toolc.client.registry import Registry
    from toolc.compiler.pipeline.compile import Compilation
    from toolc.compiler.project.settings import Settings
    from toolc.config.secret_sources import SecretStore
    from toolc.config.user_config import Configuration
    from toolc.model.diagnostics import Diagnostics
    from toolc.model.lock_file import Lock
    from toolc.policy.policy import Policy

__all__ = ["FINDINGS", "compile_or_exit", "note"]


P = ParamSpec("P")
T = TypeVar("T")

FINDINGS: Final = 1
"""The exit code of ``build``, ``check`` and ``test`` where specs have errors or tests fail."""

CANNOT: Final = 2
"""The exit code if a command could not do what was requested."""

_UNITS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0}


def duration(ctx: click.Context, param: click.Parameter, value: str | None) -> float | None:
    """Parse a duration as in specs (``500ms``, ``30s`` or ``10m``) to seconds; an option callback."""
    if value is None:
        return None
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)(ms|s|m)", value)
    seconds = float(match[1]) * _UNITS[match[2]] if match else 0.0
    if not seconds:
        raise click.BadParameter(f"{value!r} is not a duration; write it like 500ms, 30s or 10m", ctx, param)
    return seconds


def named(ctx: click.Context, param: click.Parameter, value: tuple[str, ...]) -> tuple[str, ...]:
    """Reject empty paths, which result from unset variables; an argument callback."""
    if "" in value:
        raise click.BadParameter("the path is empty; write . for the current folder", ctx, param)
    return value


engine_option = click.option(
    "--engine",
    type=click.Choice(engine_names()),
    help="The sandbox engine.  [default: the engine in your configuration, else auto]",
)
"""``--engine``."""


def user_configuration() -> Configuration:
    """Return the user's configuration; warn on stderr about protections a call lacks. Raise ``UsageError``."""
    from toolc.config.user_config import load_configuration  # start-up time

    configuration = load_configuration()
    if configuration.accept_unenforced:
        import logging  # as above

        handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter("toolc: warning: %(message)s"))
        logging.getLogger("toolc").addHandler(handler)
    return configuration


secrets_option = click.option("--secrets", metavar="FILE", help="A file of lines 'NAME: value' with secrets.")
"""``--secrets``, for ``secret_store``."""


def secret_store(path: str | None, configuration: Configuration, *, only_given: bool = False) -> SecretStore:
    """Return the sources of secrets: the file of ``--secrets``, the configuration, the environment, in this order.

    With ``only_given``, only the file is used. Raise ``UsageError``.
    """
    from toolc.config.secret_sources import SecretStore, load_secrets  # start-up time

    _leave_no_core()
    given = load_secrets(Path(path)) if path is not None else {}
    if only_given:
        return SecretStore(given, from_environment=False)
    return SecretStore({**configuration.secrets, **given})


def _leave_no_core() -> None:
    """Disable core files and the host's crash handler for this process, whose memory contains secrets."""
    import resource  # as above

    hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
    # With 1, unlike with 0, the kernel runs no handler either; core(5).
    resource.setrlimit(resource.RLIMIT_CORE, (0 if hard == 0 else 1, hard))


def refuse_unapproved(lock: Lock, registry: Registry) -> None:
    """Raise ``LockError`` naming every tool in a whole registry that differs from what was approved."""
    from toolc.model.lock_file import LockError, changed_tools  # start-up time

    if lines := [*changed_tools(lock, (registry.registered(name) for name in registry.names))]:
        raise LockError("\n".join(lines))


def refuse_disallowed(policy: Policy, registry: Registry) -> None:
    """Raise ``PolicyError`` naming every tool in a whole registry that a policy does not allow."""
    from toolc.policy.policy import PolicyError  # start-up time
    from toolc.policy.rules import enforce_policies

    lines: list[str] = []
    for tool in registry:
        try:
            enforce_policies(tool, registry, (policy,))
        except PolicyError as error:
            lines.append(str(error))
    if lines:
        raise PolicyError("\n".join(lines))


policy_option = click.option(
    "--policy", "policy_file", metavar="FILE", help="A policy file that applies in addition to those of project files."
)
"""``--policy``, for ``central_policy``."""


def central_policy(path: str | None) -> Policy | None:
    """Return the policy of ``--policy``; None without it. Raise ``UsageError`` if it cannot be used."""
    if path is None:
        return None
    from toolc.compiler.project.policy import read_policy  # start-up time

    return read_policy(path)


def lock_options(command: Callable[P, T]) -> Callable[P, T]:
    """``--locked`` and ``--lock``, for ``approved``."""
    locked = click.option("--locked", is_flag=True, help="Call only tools that the nearest toolc.lock approves.")
    lock = click.option("--lock", "lock_file", metavar="FILE", help="Call only tools that this lock file approves.")
    return locked(lock(command))


def approved(lock_file: str | None, *, locked: bool) -> Lock | None:
    """Return the lock of ``--locked`` or ``--lock``; None without them. Raise ``LockError``."""
    if lock_file is None and not locked:
        return None
    from toolc.model.lock_file import LOCK_NAME, Lock  # start-up time

    if lock_file is not None:
        return Lock.read(Path(lock_file))
    here = Path.cwd()
    for folder in (here, *here.parents):
        if (folder / LOCK_NAME).exists():
            return Lock.read(Path(os.path.relpath(folder / LOCK_NAME)))
        if (folder / ".git").exists():
            break
    return Lock.read(Path(LOCK_NAME))


format_option = click.option(
    "--format",
    "format_name",
    type=click.Choice(FORMATS),
    default=FORMATS[0],
    show_default=True,
    help="The format of findings. Formats other than text are the only output on stdout.",
)
"""``--format``."""


def compile_or_exit(
    paths: tuple[str, ...], *, to: TextIO, code: int, format_name: str = FORMATS[0], settings: Settings | None = None
) -> Compilation:
    """Compile specs, print every finding, and exit with status ``code`` if there are errors."""
    from toolc.compiler.cache.parallel import gather_many
    from toolc.compiler.pipeline.compile import compile_specs  # not every command compiles
    from toolc.compiler.project.settings import NO_SETTINGS

    compilation = compile_specs([Path(path) for path in paths], settings or NO_SETTINGS, gather_many)
    print_findings(compilation.diagnostics, to, format_name)
    if compilation.diagnostics.has_errors:
        raise click.exceptions.Exit(code)
    return compilation


def open_registry(target: str) -> Registry:
    """Open a registry file, or compile specs; ``TARGET#NAME`` selects one tool."""
    from toolc.client.build import split_target  # start-up time
    from toolc.client.registry import Registry  # start-up time

    source, name = split_target(target)
    if source.suffix == ".json":
        return Registry.load(target)
    registry = Registry.compiled(compiled_source(source))
    return registry if name is None else registry.only(name)


def compiled_source(source: Path) -> Compilation:
    """Compile the specs at ``source`` for a call; report errors on stderr and exit.

    Warnings are not shown: they are for ``check`` and ``build``, and the user of a tool is often not its author.
    """
    from toolc.compiler.pipeline.compile import compile_specs  # not every command compiles

    compilation = compile_specs([source])
    if compilation.diagnostics.has_errors:
        print_findings(compilation.diagnostics, sys.stderr)
        raise click.exceptions.Exit(CANNOT)
    return compilation


def print_findings(diagnostics: Diagnostics, to: TextIO, format_name: str = FORMATS[0]) -> None:
    """Print findings in a format of the reporters' table; as text, print nothing if there are none."""
    report = Report(
        diagnostics=diagnostics,
        version=__version__,
        folder=Path.cwd().as_posix(),
        pages=_pages() if format_name == "sarif" else {},
        color=wants_color(to),
    )
    to.write(render(report, format_name))


def _pages() -> dict[str, FindingPage]:
    from toolc.data.pages import rule_pages  # start-up time

    return {
        number: FindingPage(title=page.title, explanation=page.explanation) for number, page in rule_pages().items()
    }


def wants_color(to: TextIO) -> bool:
    """Return whether to colour the output: on a terminal, unless the user's environment says otherwise.

    ``NO_COLOR`` (no-color.org) has priority over ``FORCE_COLOR`` (force-color.org); empty values are ignored.
    """
    if os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or (to.isatty() and os.environ.get("TERM") != "dumb")


def note(message: str) -> None:
    """Print one line for the user on stderr."""
    print(f"toolc: {message}", file=sys.stderr)
