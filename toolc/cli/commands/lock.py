"""``toolc lock``: write down what is approved, or tell what has moved since."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from toolc.cli.common import CANNOT, FINDINGS, compile_or_exit, engine_option, named, note, user_configuration

if TYPE_CHECKING:
    from toolc.model.lock_file import Pin
    from toolc.model.registry import RegisteredTool


@click.command("lock")
@click.argument("paths", nargs=-1, callback=named, metavar="[PATHS...]")
@click.option("--check", is_flag=True, help="Write nothing; leave with 1 if anything is not what was approved.")
@click.option("--lock", "lock_file", metavar="FILE", default="toolc.lock", show_default=True, help="The lock file.")
@engine_option
def command(paths: tuple[str, ...], *, check: bool, lock_file: str, engine: str | None) -> None:
    """Write toolc.lock: one line for each tool of the specs at PATHS (the current folder if none).

    Whoever reviews a change of this file approves what it names; run, test and serve with --locked call nothing
    else. Images and packages are named by digest, for which an engine is asked; --check asks none.
    """
    from toolc.model.lock_file import Lock, changed_tools, lock_tools  # start-up time

    compilation = compile_or_exit(paths or (".",), to=sys.stderr, code=CANNOT)
    tools = compilation.registry().tools
    path = Path(lock_file)
    if check:
        lines = [*changed_tools(Lock.read(path), tools)]
        print("".join(f"{line}\n" for line in lines), end="")
        if lines:
            raise click.exceptions.Exit(FINDINGS)
        note(f"{path} approves all {len(tools)} tools")
        return
    lock = lock_tools(tools, _pin(engine), str(path))
    _write(path, lock.text())
    note(f"{path} approves {len(tools)} tool{'s' * (len(tools) != 1)}: have its change reviewed")


def _pin(engine: str | None) -> Pin:
    """What finds images and packages by an engine of this host."""

    def pin(tool: RegisteredTool) -> tuple[str | None, tuple[str, ...]]:
        from toolc.model.plan import Profile
        from toolc.model.spec.code_backends import PythonBackend
        from toolc.sandbox.images.metadata import approval_name
        from toolc.sandbox.selection import select  # few tools have an image, and most specs are locked without

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
        found = select(engine or configuration.engine, profile).engine.content_digests(profile)
        return approval_name(found.image.names, found.image.name) if found.image else None, found.packages

    configuration = user_configuration()
    return pin


def _write(path: Path, text: str) -> None:
    """Write the file whole or not at all."""
    from toolc.model.errors import UsageError  # start-up time

    draft = path.with_name(f".{path.name}.draft")
    try:
        draft.write_text(text, encoding="utf-8")
        draft.replace(path)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise UsageError(f"{path} cannot be written: {(error.strerror or '').lower()}") from None
