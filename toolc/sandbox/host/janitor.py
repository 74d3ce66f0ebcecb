"""The janitor: a small process that outlives this one and removes what it could not remove.

``register`` adds a command that removes what this process may leave behind. The first call starts the janitor, which
waits on a pipe whose only other end is in this process. When the pipe closes, however this process died, it runs the
commands and removes the owner's folder. Its program is ``janitor_process.py``. A janitor that was killed is replaced
when the next sandbox starts. If both were killed, the next process of this user removes what dead owners left.
"""

import contextlib
import json
import os
import select
import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from toolc.model.errors import InfrastructureError
from toolc.sandbox.host.owner import Owner, dead_directories

_Command: TypeAlias = tuple[str, ...]
"""A command: what it removes (one of ``janitor_process.COMMAND_SCHEMA``), then its arguments."""


def register(argv: Sequence[str]) -> None:
    """Run ``argv`` when this process has ended. Registering a command again has no effect.

    Call it before each start, because it checks that the janitor is alive. The command must exit with 0 if nothing
    was left to remove. It is repeated until it has done so twice in a row, or until ten seconds have passed in which
    no command made progress. It runs with an almost empty environment and must not depend on its working directory.
    Raises ``InfrastructureError`` if the janitor cannot be started: then do not create anything that needs it.
    """
    _STATE.register(("sandboxes", *argv))


def register_folders(argv: Sequence[str]) -> None:
    """Register a command for folders that sandboxes use: it runs after all commands of ``register``.

    The order matters: a runtime whose folder is removed while it starts a sandbox may leave more behind.
    """
    _STATE.register(("folders", *argv))


@dataclass(slots=True)
class _State:
    """The janitor of this process; ``pipe`` and ``pid`` are -1 if there is none."""

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
        """Release the janitor in a forked child: it belongs to the parent, and its pipe must close with the parent."""
        if self.pipe >= 0:
            os.close(self.pipe)
        self.lock, self.commands, self.pipe, self.pid = threading.Lock(), [], -1, -1

    def _start(self) -> None:
        script = Path(__file__).with_name("janitor_process.py")
        directory = str(Owner.current().directory())
        _remove_empty_directories()
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
            raise InfrastructureError(f"cannot start {sys.executable} for cleaning up: {error.strerror}") from error
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
        os.write(self.pipe, json.dumps(command).encode() + b"\n")


def _remove_empty_directories() -> None:
    """Remove empty runtime folders of dead owners; an engine removes the others."""
    for _, folder in dead_directories():
        with contextlib.suppress(OSError):
            folder.rmdir()


def _is_broken(pipe: int) -> bool:
    """Return whether the other end is closed, by poll(2)."""
    poller = select.poll()
    poller.register(pipe, 0)
    return bool(poller.poll(0))


_STATE = _State()
os.register_at_fork(after_in_child=_STATE.forget)
