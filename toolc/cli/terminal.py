"""Connect the standard streams of this process to a program in a sandbox. A terminal stays a terminal."""

from __future__ import annotations

import os
import select
import signal
import sys
import termios
import threading
import time
import tty
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import Final

from toolc.cli.common import note
from toolc.client.sandbox import Sandbox
from toolc.model.events import Stream
from toolc.runtime.sessions.programs import ProgramEnd, TerminalSize
from toolc.runtime.sessions.sandbox_session import Program

READ_SIZE: Final = 64 * 1024
"""The maximum number of bytes per read, which is the capacity of a pipe."""

MAX_UNSENT: Final = 1024 * 1024
"""The maximum number of input bytes that wait for the program. A pasted file fits.

With a lower limit, the terminal would block while the program is busy.
"""

POLL_SECONDS: Final = 0.02
"""The wait between checks, in seconds. It is too short for a person to notice."""


def attach(sandbox: Sandbox, argv: Sequence[str], environment: Mapping[str, str]) -> ProgramEnd:
    """Run ``argv`` with the stdin, stdout and stderr of this process, and return how it ended.

    If stdin and stdout are a terminal, the program has a terminal too, and receives Ctrl-C and other keys. Otherwise,
    or if the sandbox has no terminals, its streams are pipes, and Ctrl-C ends it.
    """
    if sys.stdin.isatty() and sys.stdout.isatty():
        program = sandbox.start(argv, env=environment, terminal=_size())
        with ExitStack() as stack:
            stack.enter_context(_raw_terminal())
            stack.enter_context(_forwarded_input(program))
            end = program.wait(_write)
        if end.ending != "not_started" or end.reason.startswith("command not found"):
            return end
        note(f"the sandbox has no terminal ({end.reason}); each line is sent when it is complete")
    program = sandbox.start(argv, env=environment)
    with _forwarded_input(program):
        return program.wait(_write)


def _write(stream: Stream, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(1 if stream == "stdout" else 2, view) :]


def _size() -> TerminalSize:
    columns, rows = os.get_terminal_size(sys.stdout.fileno())
    return TerminalSize(rows, columns)


@contextmanager
def _raw_terminal() -> Iterator[None]:
    """Pass every key to the program, and restore the terminal at the end."""
    before = termios.tcgetattr(0)
    try:
        # Keep the input that was typed before.
        tty.setraw(0, termios.TCSADRAIN)
        yield
    finally:
        termios.tcsetattr(0, termios.TCSADRAIN, before)


@contextmanager
def _forwarded_input(program: Program) -> Iterator[None]:
    """On a thread, forward stdin and changes of the terminal's size to the program."""
    stopped, stop = os.pipe()
    resized, resize = os.pipe()
    before = signal.signal(signal.SIGWINCH, lambda *_: _notify(resize))
    thread = threading.Thread(target=_forward, args=(program, stopped, resized), name="toolc stdin", daemon=True)
    thread.start()
    try:
        yield
    finally:
        signal.signal(signal.SIGWINCH, before)
        os.close(stop)
        thread.join()
        for fd in (stopped, resized, resize):
            os.close(fd)


def _notify(fd: int) -> None:
    os.write(fd, b"\0")


def _forward(program: Program, stopped: int, resized: int) -> None:
    poll = select.poll()
    for fd in (0, stopped, resized):
        poll.register(fd, select.POLLIN)
    while True:
        ready = {fd for fd, _ in poll.poll()}
        if stopped in ready:
            return
        if resized in ready:
            os.read(resized, READ_SIZE)
            # Stdout may not be a terminal.
            with suppress(OSError):
                program.resize(_size())
        if 0 in ready:
            data = _read()
            program.write(data, is_last=not data)
            if not data:
                poll.unregister(0)
            _wait(lambda: program.unsent_bytes <= MAX_UNSENT, stopped)


def _read() -> bytes:
    """Return the next bytes of stdin. Empty at the end of stdin, or if its terminal was closed."""
    try:
        return os.read(0, READ_SIZE)
    except OSError:
        return b""


def _wait(until: Callable[[], bool], stopped: int) -> None:
    """Wait until the program has read enough of its input or this thread must stop."""
    while not until() and not select.select([stopped], [], [], 0)[0]:
        time.sleep(POLL_SECONDS)
