"""The state of an open engine: its live sandboxes, and an object that it keeps between starts."""

import contextlib
import os
import threading
import weakref
from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

from toolc.model.errors import InfrastructureError
from toolc.sandbox.host.mount_helper import MountHelper


class LiveSandbox(Protocol):
    """A sandbox of an engine."""

    def stop(self) -> None:
        """Stop the sandbox. Its owner must still close it."""

    def close(self) -> None:
        """Stop the sandbox, and release everything that belongs to it."""


SandboxT = TypeVar("SandboxT", bound=LiveSandbox)
KeptT = TypeVar("KeptT")


class LiveSandboxes(Generic[SandboxT, KeptT]):
    """The live sandboxes of one engine in this process, and an object that the engine keeps between starts.

    ``closings`` is how often the engine was closed. In a forked child, the sandboxes and the object are dropped,
    because they belong to the parent.
    """

    def __init__(self) -> None:
        self.closings = 0
        self.mount_helper = MountHelper()
        self.kept: KeptT | None = None
        self._sandboxes: weakref.WeakSet[SandboxT] = weakref.WeakSet()
        self._process = os.getpid()
        self._lock = threading.Lock()
        # If more sandboxes start at the same time, they slow each other down.
        self._starting = threading.BoundedSemaphore(2 * (os.cpu_count() or 1))

    def keep(self, make: Callable[[KeptT | None], KeptT]) -> KeptT:
        """Call ``make`` with the object kept so far, or None if there is none. Keep and return its result."""
        with self._lock:
            if self._process != os.getpid():
                self.kept, self._sandboxes, self._process = None, weakref.WeakSet(), os.getpid()
            self.kept = make(self.kept)
            return self.kept

    def start(self, begin: Callable[[], SandboxT]) -> SandboxT:
        """Return the sandbox that ``begin`` starts. Raises ``InfrastructureError`` if the engine closes meanwhile."""
        closings = self.closings
        with self._starting:
            sandbox = begin()
        with self._lock:
            if self.closings == closings:
                self._sandboxes.add(sandbox)
                return sandbox
        sandbox.close()
        raise InfrastructureError("the engine was closed while it was starting a sandbox")

    def close(self, release: Callable[[KeptT], None]) -> None:
        """Stop the remaining sandboxes, and ``release`` the kept object. The next start opens the engine again."""
        with self._lock:
            kept, self.kept = self.kept, None
            self.closings += 1
            sandboxes, self._sandboxes = [*self._sandboxes], weakref.WeakSet()
        self.mount_helper.close()
        if kept is not None and self._process == os.getpid():
            with contextlib.ExitStack() as stops:
                stops.callback(release, kept)
                for sandbox in sandboxes:
                    stops.callback(sandbox.stop)
