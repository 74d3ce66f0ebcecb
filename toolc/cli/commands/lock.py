"""``toolc lock``: write the lock file of approved tools, or report differences from it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from toolc.cli.common import (
    CANNOT,
    FINDINGS,
    approved_by_option,
    base_option,
    engine_option,
    format_options,
    named,
    note,
    wants_color,
)
from toolc.cli.inputs import compile_or_exit, user_configuration

if TYPE_CHECKING:
    from toolc.model.lock_file import Lock, Pin
    from toolc.model.registry import RegisteredTool


@click.command("lock")
@click.argument("paths", nargs=-1, callback=named, metavar="[PATHS...]")
@click.option("--check", is_flag=True, help="Write nothing; exit with status 1 if a tool differs from the lock file.")
@click.option("--lock", "lock_file", metavar="FILE", default="toolc.lock", show_default=True, help="The lock file.")
@format_options(("text", "json"), "The format of the differences from the lock file.")
@base_option
@approved_by_option
@engine_option
def command(
    paths: tuple[str, ...],
    *,
    check: bool,
    lock_file: str,
    format_name: str,
    base: str | None,
    approved_by: tuple[str, ...],
    engine: str | None,
) -> None:
    """Write toolc.lock with one line per tool of the specs at PATHS (default: the current folder).

    Reviewing and merging a change of this file approves its tools; with --locked, run, test and serve call no others.
    Images and packages are listed with their digests, which need an engine; --check does not need one.

    Prints what changed since the lock file was written, with the fields if Git has the approved version.
    """
    from toolc.model.lock_file import Lock, lock_tools  # start-up time
    from toolc.review.locked import with_known_pins
    from toolc.review.settings_source import baseline_of

    chosen = paths or (".",)
    places = [Path(each) for each in chosen]
    baseline = baseline_of(base, approved_by, places) if base is not None else None
    tools = compile_or_exit(chosen, to=sys.stderr, code=CANNOT, baseline=baseline).registry().tools
    path = Path(lock_file)
    if check:
        lock = Lock.read(path)
        count = _print_changes(lock, with_known_pins(lock, tools, str(path)), tools, places, format_name)
        if count:
            note(f"approve {'this change' if count == 1 else f'these {count} changes'} with: toolc lock")
            raise click.exceptions.Exit(FINDINGS)
        note(f"{path} approves all {len(tools)} tools")
        return
    new = lock_tools(tools, _pin(engine), str(path))
    if old := _readable(path):
        _print_changes(old, new, tools, places, format_name, with_diff=format_name == "text")
    _write(path, new.text())
    note(f"{path} approves {len(tools)} tool{'s' * (len(tools) != 1)}: have the change reviewed")


def _print_changes(
    lock: Lock,
    actual: Lock,
    tools: Sequence[RegisteredTool],
    paths: Sequence[Path],
    format_name: str,
    *,
    with_diff: bool = False,
) -> int:
    """Print what changed, after what ``toolc diff`` prints for it if ``with_diff``; return the number of changes."""
    from toolc.review.locked import History, as_json, as_text, lock_changes  # start-up time

    with History(Path(lock.path), paths) as history:
        changes = [*lock_changes(lock, actual, tools, history)]
        if with_diff and (report := history.report(changes, color=wants_color(sys.stdout))):
            sys.stdout.write(f"{report}\n")
        sys.stdout.write(as_json(lock.path, changes) if format_name == "json" else as_text(changes))
    return len(changes)


def _readable(path: Path) -> Lock | None:
    """Return the lock file that is replaced; None if there is none, or it is damaged."""
    from toolc.model.lock_file import Lock, LockError  # start-up time

    try:
        return Lock.read(path)
    except LockError:
        return None


def _pin(engine: str | None) -> Pin:
    """Return a function that finds the digests of images and packages with an engine of this host."""

    def pin(tool: RegisteredTool) -> tuple[str | None, tuple[str, ...]]:
        from toolc.model.plan import Profile
        from toolc.model.spec.code_backends import PythonBackend
        from toolc.sandbox.images.metadata import approval_name
        from toolc.sandbox.selection import select  # start-up time: few tools have an image

        spec = tool.spec
        packages = spec.backend.requirements if isinstance(spec.backend, PythonBackend) else ()
        if spec.sandbox.image is None and not packages:
            return None, ()
        profile = Profile(
            image=spec.sandbox.image,
            build=spec.sandbox.build,
            requirements=packages,
            accept_unenforced=configuration.accept_unenforced,
        )
        pinned = select(engine or configuration.engine, profile).engine.content_digests(profile)
        return approval_name(pinned.image.names, pinned.image.name) if pinned.image else None, pinned.packages

    configuration = user_configuration()
    return pin


def _write(path: Path, text: str) -> None:
    """Replace the file atomically."""
    from toolc.model.errors import UsageError  # start-up time

    draft = path.with_name(f".{path.name}.draft")
    try:
        draft.write_text(text, encoding="utf-8")
        draft.replace(path)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise UsageError(f"{path} cannot be written: {(error.strerror or '').lower()}") from None
