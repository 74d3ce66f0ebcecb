"""``toolc lock``: write the lock file of approved tools, or report differences from it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from toolc.cli.common import CANNOT, FINDINGS, engine_option, named, note
from toolc.cli.inputs import compile_or_exit, user_configuration

if TYPE_CHECKING:
    from toolc.model.lock_file import Pin
    from toolc.model.registry import RegisteredTool


@click.command("lock")
@click.argument("paths", nargs=-1, callback=named, metavar="[PATHS...]")
@click.option("--check", is_flag=True, help="Write nothing; exit with status 1 if a tool differs from the lock file.")
@click.option("--lock", "lock_file", metavar="FILE", default="toolc.lock", show_default=True, help="The lock file.")
@engine_option
def command(paths: tuple[str, ...], *, check: bool, lock_file: str, engine: str | None) -> None:
    """Write toolc.lock with one line per tool of the specs at PATHS (default: the current folder).

    The review of a change of this file approves its tools; run, test and serve with --locked call no others. Images
    and packages are listed with their digests, which an engine of this host provides; --check needs no engine.
    """
    from toolc.model.lock_file import Lock, changed_tools, lock_tools  # start-up time

    tools = compile_or_exit(paths or (".",), to=sys.stderr, code=CANNOT).registry().tools
    path = Path(lock_file)
    if check:
        lines = [*changed_tools(Lock.read(path), tools)]
        print("".join(f"{line}\n" for line in lines), end="")
        if lines:
            raise click.exceptions.Exit(FINDINGS)
        note(f"{path} approves all {len(tools)} tools")
        return
    _write(path, lock_tools(tools, _pin(engine), str(path)).text())
    note(f"{path} approves {len(tools)} tool{'s' * (len(tools) != 1)}: have the change reviewed")


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
