"""The command line: one file per command, imported by nobody."""

from __future__ import annotations

import atexit
import contextlib
import io
import os
import signal
import sys
import warnings
from collections.abc import Mapping, Sequence
from gc import freeze
from importlib import import_module
from typing import Final, NoReturn

import click

from toolc.model.version import __version__

__all__ = ["main"]

COMMANDS: Final[Mapping[str, str]] = {
    "init": "Make a small folder of specs that builds and runs.",
    "build": "Compile specs into a registry and every provider's definitions.",
    "check": "Report what is wrong with specs; write nothing.",
    "explain": "Explain a finding by its code: why it matters, what to do.",
    "run": "Run one call of a tool in a sandbox of its own.",
    "test": "Run the tests that specs hold, each in a sandbox of its own.",
    "list": "List tools.",
    "show": "Show what one tool is, and what a call of it may do.",
    "diff": "Show what changed for a model, and what a call may now do.",
    "lock": "Write down which tools are approved, or tell what has moved.",
    "serve": "Offer tools to an MCP client, or a host of plugins, over stdio.",
    "import": "Make specs of tools that exist elsewhere.",
    "schema": "Print the JSON Schema of spec files, for editors.",
    "image": "Build, list, unpack and remove the images that tools run in.",
    "gc": "Remove what processes that were killed have left behind.",
    "doctor": "Say what this host's sandboxes enforce, and how to improve them.",
}
"""Each command, in the order of the help; its module is the one of its name and holds it as ``command``."""


class CommandGroup(click.Group):
    """A command of several: without one of them it fails with its help, for a mistyped one it names a close one."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """As click's; with nothing to parse the help goes to stderr, and the exit code is 2."""
        if not args and not ctx.resilient_parsing:
            print(ctx.get_help(), file=sys.stderr)
            raise click.exceptions.Exit(2)
        return super().parse_args(ctx, args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click's, in toolc's words. Raises ``ClickException`` for a command that does not exist."""
        known = self.list_commands(ctx)
        if args and args[0] not in known and not args[0].startswith("-"):
            raise click.ClickException(_unknown_command(args[0], known, ctx.command_path))
        return super().resolve_command(ctx, args)


class _LazyGroup(CommandGroup):
    """Imports a command's module when the command is used: ``toolc --version`` pays for none of them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*COMMANDS]  # not `list`: once imported, that is the module of a command

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command = import_module(f"toolc.cli.commands.{cmd_name if cmd_name != 'import' else 'import_'}").command
        assert isinstance(command, click.Command)
        return command

    def invoke(self, ctx: click.Context) -> object:
        try:
            result: object = super().invoke(ctx)
            sys.stdout.flush()
        except BrokenPipeError as error:
            # Here, for click's own answer is exit code 1, by which we say that a tool failed.
            raise click.exceptions.Exit(_exit_code(error)) from None
        return result

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([*COMMANDS.items()])


@click.group("toolc", cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="toolc", message="%(prog)s %(version)s")
def cli() -> None:
    """Declare LLM tools once, compile them for every provider, run each call in a disposable sandbox."""


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run one command line (without ``toolc`` itself) and exit with its code; no traceback reaches a user."""
    _heed_interrupts()
    _mend_standard_streams()
    # Python's last search for garbage would take a tenth of a check, and the process's end leaves none.
    atexit.register(freeze)
    # Python's plans for the syntax of patterns (one with "[[" in it) are nothing to a spec's author.
    warnings.filterwarnings("ignore", "Possible (nested )?set", FutureWarning)
    try:
        code = cli.main(arguments, prog_name="toolc", standalone_mode=False)
    except BaseException as error:  # noqa: BLE001  the one place where every error becomes an exit code
        code = _exit_code(error)
    sys.exit(code if isinstance(code, int) else 0)


def _heed_interrupts() -> None:
    """Let the first Ctrl-C end the work in order, and the next one this process, which ends its sandboxes."""

    def in_order(*_: object) -> NoReturn:
        signal.signal(signal.SIGINT, lambda *_: os._exit(130))
        raise KeyboardInterrupt

    # Not where it is ignored, as in the background of a script.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, in_order)


def _mend_standard_streams() -> None:
    """Let no stream be missing (``>&-``), drop what it cannot take yet, or have a character that it cannot say."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        stream = getattr(sys, name)
        if stream is None:
            # The lowest free descriptor, which is the stream's own: a socket must not become our stdout.
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: PTH123, SIM115  open for good
        elif mode == "w" and isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
            # Who shares a terminal or pipe with us may have made it non-blocking, and Python then loses the rest.
            with contextlib.suppress(OSError):
                os.set_blocking(stream.fileno(), True)


def _exit_code(error: BaseException) -> int:
    from toolc.cli.output.failure import exit_code  # nothing failed, nothing imported

    return exit_code(error)


def _unknown_command(name: str, known: Sequence[str], path: str) -> str:
    import difflib  # only for a mistyped command

    close = difflib.get_close_matches(name, known, n=1)
    return f"there is no command {name!r}; " + (f"did you mean {close[0]!r}?" if close else f"see: {path} --help")
