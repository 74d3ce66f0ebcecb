"""The janitor: a small process that outlives this one and removes what it could not.

``register`` names a command that removes what this process may leave behind. The janitor starts at the
first one and waits on a pipe whose only other end is here; when that ends, however this process died, it
runs the commands and removes the owner's folder. ``janitor_process.py`` is what it runs. Where the janitor
was killed as well, the next process of this user sweeps for owners that are dead.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from toolc.engines.owner import Owner, dead_directories
from toolc.errors import InfrastructureError


def register(argv: Sequence[str]) -> None:
    """Have ``argv`` run when this process is over; the same command twice is the same as once.

    It must exit with 0 if nothing was left to remove, and is run until it has done so twice in a row or
    ten seconds have passed. It gets an almost empty environment and must not rely on its working directory.
    Raises ``InfrastructureError`` if the janitor cannot be started: then nothing that needs it may be made.
    """
    _STATE.register(tuple(argv))


@dataclass(slots=True)
class _State:
    """The one janitor of this process; ``pipe`` is -1 while there is none."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    commands: list[tuple[str, ...]] = field(default_factory=list)
    pipe: int = -1

    def register(self, argv: tuple[str, ...]) -> None:
        with self.lock:
            if argv in self.commands:
                return
            if self.pipe < 0:
                self._start()
            try:
                self._send(argv)
            except BrokenPipeError:
                self._restart()
                self._send(argv)
            self.commands.append(argv)

    def forget(self) -> None:
        """In a forked child: the janitor is the parent's, and its pipe must end with the parent."""
        if self.pipe >= 0:
            os.close(self.pipe)
        self.lock, self.commands, self.pipe = threading.Lock(), [], -1

    def _start(self) -> None:
        script = Path(__file__).with_name("janitor_process.py")
        directory = str(Owner.current().directory())
        _remove_empty()
        read, write = os.pipe()
        try:
            os.posix_spawn(
                sys.executable,
                [sys.executable, "-I", "-S", str(script), directory],
                {"PATH": os.environ.get("PATH", os.defpath)},
                file_actions=[
                    (os.POSIX_SPAWN_DUP2, read, 0),
                    (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
                    (os.POSIX_SPAWN_DUP2, 1, 2),
                ],
                setsid=True,
            )
        except OSError as error:
            os.close(write)
            message = f"cannot start {sys.executable} to clean up after this process: {error.strerror}"
            raise InfrastructureError(message) from error
        finally:
            os.close(read)
        self.pipe = write

    def _restart(self) -> None:
        os.close(self.pipe)
        self.pipe = -1
        self._start()
        for argv in self.commands:
            self._send(argv)

    def _send(self, argv: tuple[str, ...]) -> None:
        os.write(self.pipe, json.dumps(argv).encode() + b"\n")


def _remove_empty() -> None:
    """Remove dead owners' runtime folders that hold nothing; the others' are their engine's to remove."""
    for _, folder in dead_directories():
        with contextlib.suppress(OSError):
            folder.rmdir()


_STATE = _State()
os.register_at_fork(after_in_child=_STATE.forget)
