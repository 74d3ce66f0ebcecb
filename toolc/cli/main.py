"""The command line. Each command has a module, which is imported when the command runs."""

from __future__ import annotations

import atexit
import contextlib
import gc
import io
import os
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib import import_module
from types import ModuleType
from typing import Final, NoReturn, TypeAlias

import click
from click.core import ParameterSource

from toolc.version import __version__

COMMANDS: Final[Mapping[str, str]] = {
    "init": "Create a small folder of specs that builds and runs.",
    "build": "Compile specs into a registry and every provider's definitions.",
    "check": "Report errors and warnings in specs.",
    "explain": "Explain why a finding matters and how to fix it.",
    "run": "Run one call of a tool in a new sandbox.",
    "batch": "Run the calls of a file, and resume after a crash.",
    "shell": "Open a shell in a tool's sandbox.",
    "test": "Run the tests in specs, each call in a new sandbox.",
    "list": "List tools.",
    "catalog": "Write the catalog of tools as one file of HTML.",
    "show": "Show a tool and the permissions of a call.",
    "diff": "Compare what models see and calls may do in two versions of specs.",
    "lock": "Write a lock file of approved tools, or compare tools with it.",
    "serve": "Serve tools over stdio or HTTP to MCP clients.",
    "connect": "Add tools to the configuration of an MCP client.",
    "token": "Manage the tokens of clients over HTTP, and sign in to the page.",
    "import": "Create specs from tools that other systems describe.",
    "export": "Write tools in the formats of other systems.",
    "schedule": "Show or run the due entries of a schedule.",
    "schema": "Print the JSON Schema of spec files, for editors.",
    "image": "Build, list, export, import and remove images for tools.",
    "audit": "Verify and show the record of all calls.",
    "gc": "Remove the leftovers of killed processes from this host.",
    "doctor": "Report what this host's sandboxes enforce.",
}
"""Each command with its short help, in the order of the help page. Its module defines it as ``command``."""

_MODULES: Final = {"import": "import_"}
"""The modules of commands whose names are reserved words."""


Callback: TypeAlias = Callable[[click.Context, click.Parameter, object], object]


class CommandGroup(click.Group):
    """A group of commands. Without a command, it prints its help and fails. For a mistyped one, it suggests another."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Like click's method, but prints the help on stderr and exits with status 2 if there are no arguments."""
        if not args and not ctx.resilient_parsing:
            print(ctx.get_help(), file=sys.stderr)
            raise click.exceptions.Exit(2)
        return super().parse_args(ctx, args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Like click's method, but raises ``ClickException`` with a suggestion for an unknown command."""
        known = self.list_commands(ctx)
        if args and args[0] not in known and not args[0].startswith("-"):
            raise click.ClickException(_failure().unknown_command(args[0], known, ctx.command_path))
        name, command, left = super().resolve_command(ctx, args)
        for each in command.params if command else ():
            if each.type is not click.UNPROCESSED:
                each.callback = partial(_not_empty, each.callback)
        return name, command, left


def _not_empty(callback: Callback | None, ctx: click.Context, param: click.Parameter, value: object) -> object:
    """Reject an empty value: the variable of a script that is not set must not mean "here" or "nothing"."""
    is_typed = ctx.get_parameter_source(param.name or "") is ParameterSource.COMMANDLINE
    if is_typed and (value == "" or (isinstance(value, tuple) and "" in value)):
        raise click.BadParameter("the value is empty; leave it out, or set its variable", ctx, param)
    return callback(ctx, param, value) if callback else value


class _LazyGroup(CommandGroup):
    """Import the module of a command when the command is used, so that ``toolc --version`` starts quickly."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*COMMANDS]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command = import_module(f"toolc.cli.commands.{_MODULES.get(cmd_name, cmd_name)}").command
        assert isinstance(command, click.Command)
        return command

    def invoke(self, ctx: click.Context) -> object:
        from toolc.compiler.project.work_limits import limited_time  # lazy: +5 ms; --version and --help skip it

        try:
            with limited_time(ctx.obj):
                result: object = super().invoke(ctx)
            sys.stdout.flush()
        except BrokenPipeError as error:
            # Handled here, because click would exit with status 1, which means that a tool failed.
            raise click.exceptions.Exit(_failure().exit_code(error)) from None
        return result

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([*COMMANDS.items()])


@click.group("toolc", cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="toolc", message="%(prog)s %(version)s")
@click.option(
    "--log-format", type=click.Choice(["text", "json"]), default="text", show_default=True, help="The log's format."
)
def cli(log_format: str) -> None:
    """Declare LLM tools once, compile them for every provider, and run each call in a disposable sandbox."""
    if log_format == "json":
        from toolc.telemetry.logs import log_as_json  # lazy: +10 ms (logging); few users need it

        log_as_json()


def main(arguments: Sequence[str] | None = None, *, seconds_per_file: float | None = None) -> NoReturn:
    """Run a command line, without the word ``toolc``, and exit with its status. No traceback reaches the user.

    A command that compiles one file for longer than ``seconds_per_file`` (60 by default) ends with status 2.
    """
    _handle_interrupts()
    _prepare_standard_streams()
    # The garbage collection at exit would take a tenth of the time of a check.
    atexit.register(gc.freeze)
    # The default of 700 new objects would take a twentieth of the time of a run, which mostly creates modules.
    gc.set_threshold(50_000)
    try:
        code = cli.main(arguments, prog_name="toolc", standalone_mode=False, obj=seconds_per_file)
    except BaseException as error:  # noqa: BLE001  every error becomes an exit code here
        code = _failure().exit_code(error)
    sys.exit(code if isinstance(code, int) else 0)


def _handle_interrupts() -> None:
    """Let the first Ctrl-C raise ``KeyboardInterrupt``, and the next one end the process with its sandboxes."""

    def interrupt(*_: object) -> NoReturn:
        signal.signal(signal.SIGINT, lambda *_: os._exit(130))
        raise KeyboardInterrupt

    # Leave an ignored signal alone, as in a background process of a script.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, interrupt)


def _prepare_standard_streams() -> None:
    """Open streams that are closed (``>&-``), make them blocking, and escape characters they cannot encode."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        stream = getattr(sys, name)
        if stream is None:
            # This uses the lowest free descriptor, which is that of the stream, so that no socket becomes stdout.
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: PTH123, SIM115  stays open
        elif mode == "w" and isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
            # Another process may have made a shared terminal or pipe non-blocking, and Python would lose output.
            with contextlib.suppress(OSError):
                os.set_blocking(stream.fileno(), True)


def _failure() -> ModuleType:
    from toolc.cli.output import failure  # lazy: +13 ms; only errors need it

    return failure
