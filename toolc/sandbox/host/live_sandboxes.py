"""What an engine has while it is open: its live sandboxes, and what it keeps between starts."""

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
        """Stop the sandbox; its owner still closes it."""

    def close(self) -> None:
        """Stop the sandbox, and release everything that belongs to it."""


SandboxT = TypeVar("SandboxT", bound=LiveSandbox)
KeptT = TypeVar("KeptT")


class LiveSandboxes(Generic[SandboxT, KeptT]):
    """The live sandboxes of one engine in this process, and what the engine keeps between starts.

    ``closings`` is how many times it was closed. A forked child has neither, because they belong to its parent.
    """

    def __init__(self) -> None:
        self.closings = 0
        self.mount_helper = MountHelper()
        self.kept: KeptT | None = None
        self._sandboxes: weakref.WeakSet[SandboxT] = weakref.WeakSet()
        self._process = os.getpid()
        self._lock = threading.Lock()
        # More concurrent starts than this slow each other down.
        self._starting = threading.BoundedSemaphore(2 * (os.cpu_count() or 1))

    def keep(self, make: Callable[[KeptT | None], KeptT]) -> KeptT:
        """Return, and keep, what ``make`` returns for what is kept now, which is None after a start or a closing."""
        with self._lock:
            if self._process != os.getpid():
                self.kept, self._sandboxes, self._process = None, weakref.WeakSet(), os.getpid()
            self.kept = make(self.kept)
            return self.kept

    def start(self, begin: Callable[[], SandboxT]) -> SandboxT:
        """Return the sandbox that ``begin`` starts. Raises ``InfrastructureError`` if this was closed meanwhile."""
        closings = self.closings
        with self._starting:
            sandbox = begin()
        with self._lock:
            if self.closings == closings:
                self._sandboxes.add(sandbox)
                return sandbox
        sandbox.close()
        raise InfrastructureError("the engine was closed while it started a sandbox")

    def close(self, release: Callable[[KeptT], None]) -> None:
        """Stop the sandboxes that are left, and ``release`` what is kept. The next start opens the engine again."""
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
