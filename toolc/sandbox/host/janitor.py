"""The janitor is a small process that outlives this one and removes everything that this one could not remove.

``register`` tells it what this process may leave behind. The first call starts the janitor, which waits on a pipe
whose only other end is in this process. When this process ends, in whatever way, the pipe closes. The janitor then
removes the registered objects and the owner's folder. Its program is ``janitor_process.py``. If a janitor is killed,
the next start of a sandbox replaces it. If both processes are killed, the next process of this user cleans up.
"""

import contextlib
import json
import os
import select
import sys
import threading

from toolc.dataclass import dataclass, field
from toolc.model.errors import InfrastructureError
from toolc.sandbox.host.owner import Owner, dead_directories
from toolc.sandbox.host.programs import start_program


def register(kind: str, *arguments: str) -> None:
    """When this process has ended, remove the objects of a kind (``janitor_process.KINDS``) that it may have left.

    ``arguments`` are those of the kind's ``sweep_owner``. Call this before each start, because it checks that the
    janitor is alive. Registering the same kind again has no further effect. The removal is repeated until it has found
    nothing twice in a row, or until no removal has made progress for ten seconds. It must not depend on the environment
    or the working directory. Raises ``InfrastructureError`` if the janitor cannot be started. In that case, do not
    create anything that needs it.
    """
    _STATE.register((kind, *arguments))


@dataclass(slots=True)
class _State:
    """The janitor of this process. ``pipe`` and ``pid`` are -1 if there is none."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    removals: list[tuple[str, ...]] = field(default_factory=list)
    pipe: int = -1
    pid: int = -1

    def register(self, removal: tuple[str, ...]) -> None:
        with self.lock:
            if self.pipe < 0:
                self._start()
            elif _is_broken(self.pipe):
                self._restart()
            if removal not in self.removals:
                try:
                    self._send(removal)
                except BrokenPipeError:
                    self._restart()
                    self._send(removal)
                self.removals.append(removal)

    def forget(self) -> None:
        """Release the janitor in a forked child. It belongs to the parent, and its pipe must close with the parent."""
        if self.pipe >= 0:
            os.close(self.pipe)
        self.lock, self.removals, self.pipe, self.pid = threading.Lock(), [], -1, -1

    def _start(self) -> None:
        directory = str(Owner.current().directory())
        _remove_empty_directories()
        read, write = os.pipe()
        try:
            self.pid = start_program("janitor_process.py", directory, read)
        except OSError as error:
            os.close(write)
            raise InfrastructureError(f"cannot start {sys.executable} to clean up: {error.strerror}") from error
        finally:
            os.close(read)
        self.pipe = write
        for removal in self.removals:
            self._send(removal)

    def _restart(self) -> None:
        os.close(self.pipe)
        self.pipe = -1
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self.pid, 0)
        self._start()

    def _send(self, removal: tuple[str, ...]) -> None:
        os.write(self.pipe, json.dumps(removal).encode() + b"\n")


def _remove_empty_directories() -> None:
    """Remove the empty runtime folders of dead owners. Engines remove the others."""
    for _, folder in dead_directories():
        with contextlib.suppress(OSError):
            folder.rmdir()


def _is_broken(pipe: int) -> bool:
    """Return whether the other end is closed."""
    poll = select.poll()
    poll.register(pipe, 0)
    return bool(poll.poll(0))


_STATE = _State()
os.register_at_fork(after_in_child=_STATE.forget)
