"""Replace all tools of a running server at once, on SIGHUP and, with ``--watch``, after each change.

SIGHUP also reads the settings of clients again.
"""

from __future__ import annotations

import logging
import signal
from collections.abc import Callable, Sequence
from itertools import chain
from pathlib import Path
from typing import Final, TypeAlias

import anyio

from toolc.client.registry import Registry
from toolc.model.lock_file import Lock
from toolc.serve.http.host import HttpHost

WATCH_SECONDS: Final = 1.0
"""How often the files of specs are compared, in seconds."""

MAX_WATCHED: Final = 50_000
"""The maximum number of files that are compared. More are probably not specs."""

Load: TypeAlias = Callable[[], tuple[Registry, Lock | None]]
"""Returns the present tools, and the lock file that approves them. Compiles in another process."""

_LOG: Final = logging.getLogger("toolc")


class Reloader:
    """Loads the tools again when a ``watched`` file changes. If that fails, the last valid generation stays."""

    def __init__(self, host: HttpHost, load: Load, watched: Sequence[Path] = ()) -> None:
        self._host = host
        self._load = load
        self._watched = watched
        self._loading = anyio.Lock()

    async def run(self) -> None:
        """Reload on each signal and change, until cancelled."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._on_signals)
            if self._watched:
                tasks.start_soon(self._on_changes)

    async def reload(self) -> None:
        """Load the tools and serve them, unless they are the same."""
        async with self._loading:
            try:
                tools, lock = await anyio.to_thread.run_sync(self._load)
            except Exception as error:  # noqa: BLE001  a server must not end because of its specs
                self._host.tools_problem = str(error)
                _LOG.error("the tools are unchanged (generation %s): %s", self._host.generation, error)
                return
            await self._host.serve(tools, lock)

    async def _on_signals(self) -> None:
        with anyio.open_signal_receiver(signal.SIGHUP) as signals:
            async for _ in signals:
                self._host.settings.read_again()
                await self.reload()

    async def _on_changes(self) -> None:
        state = await anyio.to_thread.run_sync(_state, self._watched)
        while True:
            await anyio.sleep(WATCH_SECONDS)
            if (now := await anyio.to_thread.run_sync(_state, self._watched)) != state:
                state = now
                await self.reload()


def _state(paths: Sequence[Path]) -> frozenset[tuple[str, int, int]]:
    """Return a value that changes with these files and folders. Unlike inotify, this works on every system."""
    found: set[tuple[str, int, int]] = set()
    for each in chain.from_iterable(path.rglob("*") if path.is_dir() else [path] for path in paths):
        try:
            status = each.stat()
        except OSError:
            continue
        found.add((str(each), status.st_mtime_ns, status.st_size))
        if len(found) >= MAX_WATCHED:
            break
    return frozenset(found)
