"""``toolc shell``: an interactive shell, or one command, in the sandbox of a tool."""

from __future__ import annotations

import os
import sys
from typing import Final

import click

from toolc.cli.call_options import CallOptions, call_options
from toolc.cli.common import builtin_option, note
from toolc.cli.output.prompts import Prompts, confirmation
from toolc.cli.targets import find_registry

SHELL: Final = ("/bin/sh", "-c", "if command -v bash >/dev/null 2>&1; then exec bash --norc; else exec /bin/sh; fi")
"""Runs bash if the image has it, without the start files, whose prompt says "I have no name!" for many users."""


@click.command("shell", context_settings={"ignore_unknown_options": True})
@click.argument("target", metavar="TARGET")
@click.argument("words", metavar="[COMMAND]...", nargs=-1, type=click.UNPROCESSED)
@click.option("--registry", metavar="FILE", help="Take the tool TARGET from this registry.")
@builtin_option
@click.option("--workspace", metavar="DIR", default=".", help="The workspace.  [default: the current folder]")
@call_options
@click.option("--yes", is_flag=True, help="Assume yes to all prompts.")
def command(
    target: str,
    words: tuple[str, ...],
    registry: str | None,
    builtin: str | None,
    workspace: str,
    options: CallOptions,
    yes: bool,
) -> None:
    """Open a shell, or run COMMAND, in the sandbox of a tool.

    TARGET is a spec file (SPEC#NAME if it has several tools) or, with --registry or --builtin, the name of a tool. The
    sandbox has the image, user, workspace, network, secrets and limits of the tool's calls, but no timeout. The files
    of the tool are in /tool. Write options before TARGET. The exit code is that of the shell.
    """
    from toolc.cli.terminal import attach  # start-up time
    from toolc.client.executor import Executor

    tools = find_registry(target, registry, builtin)
    (tool,) = tools
    confirm = confirmation(Prompts(lambda: None), yes=yes)
    executor = options.bound_to(Executor)(tools, workspace=workspace, confirm=confirm, pool=None)
    with executor, executor.sandbox(tool.name) as sandbox:
        if sys.stdin.isatty() and not words:
            user, name = sandbox.details["user"], sandbox.details["engine"]
            note(f"a shell in the sandbox of {tool.name} (engine {name}, user {user}); to remove the sandbox: exit")
        environment = {"PS1": f"{tool.name} $ ", "TERM": os.environ.get("TERM", "dumb")}
        end = attach(sandbox, words or SHELL, environment)
    if end.reason:
        note(end.reason)
    if end.exit_code:
        raise click.exceptions.Exit(end.exit_code)
