"""The janitor: a small process that outlives this one and removes what it could not.

``register`` names a command that removes what this process may leave behind. The janitor starts at the
first one and waits on a pipe whose only other end is here; when that ends, however this process died, it
runs the commands and removes the owner's folder. ``janitor_process.py`` is what it runs. One that was killed is
replaced when the next sandbox starts; where both were, the next process of this user sweeps for dead owners.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from toolc.model.errors import InfrastructureError
from toolc.sandbox.host.owner import Owner, dead_directories

__all__ = [
    "register_folders",
]


def register(argv: Sequence[str]) -> None:
    """Have ``argv`` run when this process is over; the same command twice is the same as once.

    To be called before each start, not only the first: it looks whether the janitor is alive.
    It must exit with 0 if nothing was left to remove, and is run until it has done so twice in a row or
    ten seconds have passed in which none was at work. It gets an almost empty environment and must not rely on
    its working directory. Raises ``InfrastructureError`` if the janitor cannot be started: then nothing that
    needs it may be made.
    """
    _STATE.register(_Command("sandboxes", tuple(argv)))


def register_folders(argv: Sequence[str]) -> None:
    """The same for folders that sandboxes use: ``argv`` is run after every command of ``register``.

    A runtime whose folder is gone while it starts a sandbox may leave more behind than it would have made.
    """
    _STATE.register(_Command("folders", tuple(argv)))


@dataclass(frozen=True, slots=True)
class _Command:
    """What is to be run, and for what, as ``janitor_process.ORDER`` has it."""

    removes: str
    argv: tuple[str, ...]


@dataclass(slots=True)
class _State:
    """The one janitor of this process; ``pipe`` and ``pid`` are -1 while there is none."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    commands: list[_Command] = field(default_factory=list)
    pipe: int = -1
    pid: int = -1

    def register(self, command: _Command) -> None:
        with self.lock:
            if self.pipe < 0:
                self._start()
            elif _is_broken(self.pipe):
                self._restart()
            if command not in self.commands:
                try:
                    self._send(command)
                except BrokenPipeError:
                    self._restart()
                    self._send(command)
                self.commands.append(command)

    def forget(self) -> None:
        """In a forked child: the janitor is the parent's, and its pipe must end with the parent."""
        if self.pipe >= 0:
            os.close(self.pipe)
        self.lock, self.commands, self.pipe, self.pid = threading.Lock(), [], -1, -1

    def _start(self) -> None:
        script = Path(__file__).with_name("janitor_process.py")
        directory = str(Owner.current().directory())
        _remove_empty()
        read, write = os.pipe()
        try:
            self.pid = os.posix_spawn(
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
        for command in self.commands:
            self._send(command)

    def _restart(self) -> None:
        os.close(self.pipe)
        self.pipe = -1
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self.pid, 0)
        self._start()

    def _send(self, command: _Command) -> None:
        os.write(self.pipe, json.dumps([command.removes, *command.argv]).encode() + b"\n")


def _is_broken(pipe: int) -> bool:
    """Whether nobody has the other end, by poll(2)."""
    poller = select.poll()
    poller.register(pipe, 0)
    return bool(poller.poll(0))


def _remove_empty() -> None:
    """Remove dead owners' runtime folders that hold nothing; the others' are their engine's to remove."""
    for _, folder in dead_directories():
        with contextlib.suppress(OSError):
            folder.rmdir()


_STATE = _State()
os.register_at_fork(after_in_child=_STATE.forget)
