"""Report an exception to the user: a message on stderr and an exit code."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
import tempfile
import traceback
from collections.abc import Sequence
from typing import Final

import click

from toolc.model.errors import ToolcError
from toolc.model.names import close_match
from toolc.reporters.text import escape_for_terminal

USAGE: Final = 2
BUG: Final = 3
INTERRUPTED: Final = 130
"""As in a shell, 128 plus the number of SIGINT."""

BROKEN_PIPE: Final = 141
"""The exit code for a closed output pipe, as if SIGPIPE had ended the process."""

_NO_SPACE: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


def exit_code(error: BaseException) -> int:
    """Print the error on stderr, if it has a message, and return its exit code."""
    match error:
        case click.exceptions.Exit():
            return error.exit_code
        case SystemExit():
            return error.code if isinstance(error.code, int) else USAGE
        case KeyboardInterrupt() | click.Abort():
            return INTERRUPTED
        case BrokenPipeError():
            _abandon_stdout()
            return BROKEN_PIPE
        case OSError() if error.errno in _NO_SPACE:
            _abandon_stdout()
            _say(f"the output cannot be written: {error.strerror}")
            return USAGE
        case OSError() if error.errno == errno.ENAMETOOLONG:
            _say(f"there is no file {str(error.filename)[:80]!r}...: the name is too long")
            return USAGE
        case click.ClickException():
            _say(error.format_message().rstrip(".") + _usage_hint(error))
            return USAGE
        case ToolcError():
            _say(escape_for_terminal(str(error)))  # it may quote a server or a file
            return error.exit_code
        case _:
            return _bug(error)


def unknown_command(name: str, known: Sequence[str], path: str) -> str:
    """Return the message for a command that does not exist, with a suggestion if a name is similar."""
    close = close_match(name, known)
    return f"there is no command {name!r}; " + (f"did you mean {close!r}?" if close else f"see: {path} --help")


def _usage_hint(error: click.ClickException) -> str:
    context = error.ctx if isinstance(error, click.UsageError) else None
    if context is None:
        return ""
    return f"{' See' if error.format_message().endswith('?') else '; see'}: {context.command_path} --help"


def _bug(error: BaseException) -> int:
    summary = "".join(traceback.format_exception_only(error)).strip().splitlines()[-1]
    with contextlib.suppress(OSError):
        with tempfile.NamedTemporaryFile(
            "w", encoding="utf-8", errors="replace", prefix="toolc-bug-", suffix=".txt", delete=False
        ) as file:
            traceback.print_exception(error, file=file)
        _say(f"this is a bug in toolc: {summary}; please report it and attach {file.name}")
        return BUG
    _say(f"this is a bug in toolc: {summary}; please report it")
    return BUG


def _say(message: str) -> None:
    # stderr may be a closed pipe too.
    with contextlib.suppress(OSError):
        print(f"toolc: {message}", file=sys.stderr, flush=True)


def _abandon_stdout() -> None:
    """Redirect stdout to the null device, so that the interpreter can flush it at exit."""
    with contextlib.suppress(OSError, ValueError):
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, sys.stdout.fileno())
        os.close(nothing)
