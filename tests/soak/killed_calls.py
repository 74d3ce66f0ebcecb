"""``python killed_calls.py ENGINE ISOLATION CALLS THREADS FILE``: calls of which one in a hundred is killed at random.

For each of these, a process of a random sandbox of this process is killed at a random moment: one of the$
1, or the runtime. Other calls and waiting sandboxes are hit too. The output is that of ``many_calls.py``.
"""

import contextlib
import json
import os
import random
import signal
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final
from urllib.parse import quote

from daemon_places import SECONDS
from many_calls import Arguments, growth, report

from toolc.client.executor import Executor
from toolc.model.errors import InfrastructureError
from toolc.sandbox.docker.api_client import ApiError, find_socket
from toolc.sandbox.docker.daemon import OWNER_LABEL, connect
from toolc.sandbox.host.owner import Owner

KILLED_SHARE: Final = 0.01
LONGEST_SECONDS: Final = 0.2
"""The longest time between the beginning of a call and a kill."""


class Killer:
    """Kills processes of the sandboxes of this process, on one thread of its own."""

    def __init__(self, engine: str) -> None:
        self.kills = 0
        self._label = Owner.current().label()
        self._daemon = connect(find_socket(os.environ)).client if engine == "docker" else None
        self._chance = random.Random(self._label)
        self._lock = threading.Lock()

    def may_kill(self) -> threading.Thread | None:
        """Start to wait for a kill during the call that begins now, in one of a hundred cases."""
        with self._lock:
            if self._chance.random() >= KILLED_SHARE:
                return None
            thread = threading.Thread(target=self._kill, args=(self._chance.uniform(0, LONGEST_SECONDS),))
        thread.start()
        return thread

    def _kill(self, seconds: float) -> None:
        time.sleep(seconds)
        # The sandbox may end in the meantime.
        with contextlib.suppress(OSError, ApiError):
            if victims := self._victims():
                os.kill(self._chance.choice(victims), signal.SIGKILL)
                self.kills += 1

    def _victims(self) -> Sequence[int]:
        names = self._containers() if self._daemon else [self._label]
        if not names:
            return ()
        name = self._chance.choice(names)
        found = []
        for process in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                words = (process / "cmdline").read_bytes(), (process / "cgroup").read_bytes()
                is_runtime = b"--pid-file" in words[0] and name.encode() in words[0]
                if is_runtime or name.encode() in words[1]:
                    found.append(int(process.name))
        return found

    def _containers(self) -> list[str]:
        assert self._daemon is not None
        filters = quote(json.dumps({"label": [f"{OWNER_LABEL}={self._label}"]}))
        listed = self._daemon.call("GET", f"/containers/json?filters={filters}", timeout=SECONDS)
        return [str(each["Id"]) for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []


class KilledCalls:
    """Calls by one executor, and what came back."""

    def __init__(self, executor: Executor, killer: Killer) -> None:
        self._executor = executor
        self._killer = killer
        self.failures: list[str] = []

    def call(self, _: int) -> None:
        """Make one call, which may be killed."""
        killing = self._killer.may_kill()
        try:
            result = self._executor.run("hello", {})
            if result.text != "hello\n":
                self.failures.append(result.text)
        except InfrastructureError as error:
            self.failures.append(str(error))
        if killing:
            killing.join()

    def calls(self, count: int, threads: int) -> None:
        """Make many calls, on several threads."""
        with ThreadPoolExecutor(threads) as pool:
            for _ in pool.map(self.call, range(count)):
                pass


def main() -> None:
    given = Arguments.parse()
    killer = Killer(given.engine)
    with given.executor() as executor:
        made = KilledCalls(executor, killer)
        made.calls(given.calls * 3 // 4, given.threads)
        grown = growth(executor, lambda: made.calls(given.calls // 4, given.threads))
    # Each kill ends at most one sandbox, and so at most one call.
    is_right = len(made.failures) <= killer.kills
    report(grown, right=is_right, calls=given.calls, kills=killer.kills, failures=made.failures[:20])


if __name__ == "__main__":
    main()
