"""The process of a runtime in the foreground, which hands a sandbox the stream itself.

Without a terminal runc gives process 1 pipes, and copies between them and its own stdin and stdout: a process more
on the way of every byte. A descriptor that it is told to preserve, it passes on as it is (runc-run(8)).
"""

from __future__ import annotations

import fcntl
import os
import signal
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

STREAM: Final = 3
"""The first descriptor that a runtime can be told to pass on."""

RUN_OPTIONS: Final = ("--preserve-fds", "1")
"""What tells it to."""

_TAKE_STREAM: Final = "import os\nos.dup2(3, 0)\nos.dup2(3, 1)\nos.close(3)\n"


def taking_stream(arguments: Sequence[str]) -> tuple[str, ...]:
    """Python's ``arguments``, whose program (after ``-c``) first makes the stream its stdin and stdout."""
    program = arguments.index("-c") + 1
    # As a program of its own: its first statements may have to be the first.
    taken = f"{_TAKE_STREAM}exec({arguments[program]!r})"
    return (*arguments[:program], taken, *arguments[program + 1 :])


class RuntimeProcess:
    """A child process in a session of its own. ``returncode`` is as ``subprocess`` has it, None until ``wait``."""

    def __init__(self, command: Sequence[str], stream: int, errors: int) -> None:
        """Start ``command`` with an empty environment. Raises ``OSError``.

        What a terminal or a supervisor sends to our group must not reach it: hence the session.
        """
        self.returncode: int | None = None
        # Out of the way of the numbers that they are about to get.
        stream, errors = (fcntl.fcntl(each, fcntl.F_DUPFD_CLOEXEC, STREAM + 1) for each in (stream, errors))
        null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
        places = ((null, 0), (null, 1), (errors, 2), (stream, STREAM))
        actions = [(os.POSIX_SPAWN_DUP2, each, number) for each, number in places]
        try:
            self.pid = os.posix_spawn(
                command[0],
                [*command],
                {},
                file_actions=[*((os.POSIX_SPAWN_CLOSE, each) for each in _inheritable()), *actions],
                setsid=True,
                setsigdef=(signal.SIGPIPE, signal.SIGXFSZ),
            )
        finally:
            for each in (stream, errors, null):
                os.close(each)

    def wait(self) -> None:
        """Wait for its end."""
        if self.returncode is None:
            self.returncode = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


def _inheritable() -> Iterator[int]:
    """The descriptors that a child would get beside those it is given; Python's own are none of them (PEP 446)."""
    for name in (each.name for each in Path("/proc/self/fd").iterdir()):
        # The one that lists them is gone by now.
        with suppress(OSError):
            if int(name) > STREAM and os.get_inheritable(int(name)):
                yield int(name)
