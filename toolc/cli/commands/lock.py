"""``toolc lock``: write the lock file of approved tools, or report differences from it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from toolc.cli.common import (
    CANNOT,
    FINDINGS,
    base_option,
    builtin_option,
    engine_option,
    format_options,
    note,
    note_any_base,
    refuse_both,
    wants_color,
    write_text,
)
from toolc.cli.inputs import user_configuration
from toolc.cli.targets import compile_or_exit, compiled_builtin
from toolc.data.paths import packaged_path
from toolc.model.text import count_noun

if TYPE_CHECKING:
    from toolc.model.lock_file import Lock, Pin
    from toolc.model.plan import Profile
    from toolc.model.registry import RegisteredTool
    from toolc.sandbox.interface import ContentDigests


@click.command("lock")
@click.argument("paths", nargs=-1, metavar="[PATHS...]")
@builtin_option
@click.option("--check", is_flag=True, help="Write nothing; exit with status 1 if a tool differs from the lock file.")
@click.option("--refresh", is_flag=True, help="With --check, also compare the tools with their MCP servers.")
@click.option("--lock", "lock_file", metavar="FILE", default="toolc.lock", show_default=True, help="The lock file.")
@format_options(("text", "json"), "The format of the differences from the lock file.")
@base_option
@click.option("--pin-base-image", is_flag=True, help="Approve only this host's base image for tools without an image.")
@engine_option
def command(  # noqa: PLR0913  one parameter per option
    paths: tuple[str, ...],
    builtin: str | None,
    *,
    check: bool,
    refresh: bool,
    lock_file: str,
    format_name: str,
    base: str | None,
    pin_base_image: bool,
    engine: str | None,
) -> None:
    """Write toolc.lock with one line per tool of the specs at PATHS (default: the current folder) or of --builtin.

    To approve the tools, review and merge the change to this file. With --locked, the commands run, test and serve call
    only approved tools. The file has the digests of images and packages. An engine is needed to find them, except with
    --check. With --pin-base-image, the file includes the digest of the base image for tools that name no image.
    Without it, the file says base=any.

    With --check --refresh, the current definitions of the tools' MCP servers are compared with the approved ones.

    The command prints the changes since the lock file was written, with the changed fields if Git has the approved
    version.
    """
    from toolc.model.lock_file import ANY, Lock, lock_tools  # start-up time
    from toolc.review.locked import with_known_pins
    from toolc.review.settings_source import baseline_of

    if base is not None and not check:
        raise click.UsageError(
            "--base REF needs --check; to approve only the base image of this host, use: toolc lock --pin-base-image"
        )
    if pin_base_image and check:
        raise click.UsageError("--pin-base-image changes the lock file and cannot be used with --check")
    if refresh and (format_name == "json" or not check):
        raise click.UsageError("--refresh needs --check, and cannot be used with --json")
    if builtin is not None:
        refuse_both(paths, builtin)
        if base:
            raise click.UsageError("--base with a commit or folder applies to specs and cannot be used with --builtin")
        places, tools = [packaged_path("specs")], compiled_builtin(builtin).registry().tools
    else:
        chosen = paths or (".",)
        places = [Path(each) for each in chosen]
        baseline = baseline_of(base, places) if base else None
        code = FINDINGS if check else CANNOT
        tools = compile_or_exit(chosen, to=sys.stderr, code=code, baseline=baseline).registry().tools
    path = Path(lock_file)
    if check:
        lock = Lock.read(path)
        count = _print_changes(lock, with_known_pins(lock, tools, str(path)), tools, places, format_name)
        if refresh and _print_refreshed(lock, tools, engine):
            note("import the server again (toolc import mcp), and have the change reviewed")
            raise click.exceptions.Exit(FINDINGS)
        if count:
            pinned = "" if lock.allows_any_base else " --pin-base-image"
            note(f"approve {'this change' if count == 1 else f'these {count} changes'} with: toolc lock{pinned}")
            raise click.exceptions.Exit(FINDINGS)
        note(f"{path} approves {'1 tool' if len(tools) == 1 else f'all {len(tools)} tools'}")
        note_any_base(lock)
        return
    find = _finder(engine)
    new = lock_tools(tools, _pin(find), str(path), _base_tree(find) if pin_base_image else ANY)
    if old := _readable(path):
        _print_changes(old, new, tools, places, format_name, with_diff=format_name == "text")
        if new.allows_any_base and not old.allows_any_base:
            note("the base image is no longer pinned; to pin it again: toolc lock --pin-base-image")
    write_text(path, new.text())
    note(f"{path} approves {count_noun(len(tools), 'tool')}; have the change reviewed")


def _print_changes(
    lock: Lock,
    actual: Lock,
    tools: Sequence[RegisteredTool],
    paths: Sequence[Path],
    format_name: str,
    *,
    with_diff: bool = False,
) -> int:
    """Print the changes and return their number. With ``with_diff``, print the report of ``toolc diff`` first."""
    from toolc.review.locked import History, as_json, as_text, lock_changes  # start-up time

    with History(Path(lock.path), paths) as history:
        changes = [*lock_changes(lock, actual, tools, history)]
        if with_diff and (report := history.report(changes, color=wants_color(sys.stdout))):
            sys.stdout.write(f"{report}\n")
        sys.stdout.write(as_json(lock.path, changes) if format_name == "json" else as_text(changes))
    return len(changes)


def _print_refreshed(lock: Lock, tools: Sequence[RegisteredTool], engine: str | None) -> int:
    """Print the differences between the tools of MCP servers and the specs, and return their number."""
    from toolc.cli.process_specs import process_options
    from toolc.runtime.composed_backends import import_mcp
    from toolc.runtime.sandboxed.mcp_offer import server_changes
    from toolc.sandbox.selection import close_unused, in_use  # start-up time

    import_mcp("toolc lock --refresh")
    approved = [tool.spec for tool in tools if tool.spec.name in lock.tools]
    try:
        with in_use():
            changes = server_changes(approved, replace(process_options(None, engine), lock=lock))
    finally:
        close_unused()
    found = [*(f"{name}: {reason}" for name, reason in changes.changed.items()), *changes.added]
    sys.stdout.writelines(f"{each}\n" for each in found)
    return len(found)


def _readable(path: Path) -> Lock | None:
    """Return the existing lock file, or None if it is missing or damaged."""
    from toolc.model.lock_file import Lock, LockError  # start-up time

    try:
        return Lock.read(path)
    except LockError:
        return None


def _finder(engine: str | None) -> Callable[[Profile], ContentDigests]:
    """Return a function that finds the digests of images and packages with an engine of this host."""
    configuration = user_configuration()

    def find(profile: Profile) -> ContentDigests:
        from toolc.sandbox.selection import select  # start-up time: few tools have an image

        complete = replace(
            profile, base_image=configuration.base_image, host_programs=configuration.host_programs,
            accept_unenforced=configuration.accept_unenforced,
        )  # fmt: skip
        return select(engine or configuration.engine, complete).engine.content_digests(complete)

    return find


def _pin(find: Callable[[Profile], ContentDigests]) -> Pin:
    """Return a function that finds the image and the packages of a tool."""

    def pin(tool: RegisteredTool) -> tuple[str | None, tuple[str, ...]]:
        from toolc.model.plan import Profile
        from toolc.sandbox.images.metadata import approval_name  # start-up time: few tools have an image

        spec = tool.spec
        packages = spec.backend.packages
        if spec.sandbox.image is None and not packages:
            return None, ()
        profile = Profile(image=spec.sandbox.image, build=spec.sandbox.build, requirements=packages)
        pinned = find(profile)
        image = pinned.image if spec.sandbox.image else None
        return approval_name(image.names, image.name) if image else None, pinned.packages

    return pin


def _base_tree(find: Callable[[Profile], ContentDigests]) -> str:
    """Return the tree of this host's base image. Raises ``UsageError`` if the configuration uses no base image."""
    from toolc.model.errors import UsageError
    from toolc.model.plan import Profile  # start-up time: few lock files restrict the base image

    found = find(Profile()).image
    if found is None or not found.tree:
        raise UsageError(
            "--pin-base-image approves a base image, but your configuration says host_programs: true; remove that line"
        )
    return found.tree
