"""What the daemon says about our containers while they live: one stream of events per process.

A container that removes itself leaves nothing to inspect, so its exit status, whether it ran out of memory,
and that it is gone all come from here: ``oom`` before ``die``, ``die`` before ``destroy``.
"""

from __future__ import annotations

import json
import threading
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import quote

from toolc.engines.docker_body import OWNER_LABEL
from toolc.engines.docker_http import Client, Feed
from toolc.model.json_schema import JsonValue

OPEN_SECONDS: Final = 30.0
"""How long the stream may take to begin; once open it has no end."""

STOP_SECONDS: Final = 5.0
"""How long its thread may take to notice that it was stopped."""


_SIGKILL: Final = ("9", "SIGKILL")
"""As daemons of different ages say it."""


@dataclass(slots=True)
class Watch:
    """What has been said about one container so far. ``gone`` is set when the daemon has removed it.

    ``killed``: the daemon itself sent it SIGKILL, because somebody asked for that or because it is stopping.
    """

    out_of_memory: bool = False
    killed: bool = False
    exit_status: int | None = None
    gone: threading.Event = field(default_factory=threading.Event)


class Events:
    """The events of one owner's containers, read by a thread of its own until ``stop``."""

    def __init__(self, client: Client, owner: str) -> None:
        """Open the stream. Raises ``ApiError``."""
        filters = json.dumps({"label": [f"{OWNER_LABEL}={owner}"], "type": ["container"]})
        self.owner = owner
        self._lock = threading.Lock()
        self._watches: dict[str, Watch] = {}
        self._stopping = False
        self._feed = client.follow(f"/events?filters={quote(filters)}", timeout=OPEN_SECONDS)
        self._thread = threading.Thread(target=self._follow, args=(self._feed,), name="toolc-events", daemon=True)
        self._thread.start()

    @property
    def alive(self) -> bool:
        """Whether the stream still runs: a daemon that restarts ends it."""
        return self._thread.is_alive()

    def watch(self, container: str) -> Watch:
        """Collect what is said about a container from now on; call before it is started."""
        with self._lock:
            return self._watches.setdefault(container, Watch())

    def forget(self, container: str) -> None:
        """Stop collecting; the last one ends a stream that was told to stop."""
        with self._lock:
            self._watches.pop(container, None)
            ended = self._stopping and not self._watches
        if ended:
            self._end()

    def stop(self) -> None:
        """End the stream, once nothing is watched any more."""
        with self._lock:
            self._stopping = True
            ended = not self._watches
        if ended:
            self._end()

    def _end(self) -> None:
        self._feed.stop()
        self._thread.join(timeout=STOP_SECONDS)

    def _follow(self, feed: Feed) -> None:
        for event in feed:
            self._take(event)

    def _take(self, event: JsonValue) -> None:
        if not isinstance(event, dict):
            return
        actor = event.get("Actor")
        if not isinstance(actor, dict):
            return
        with self._lock:
            watch = self._watches.get(str(actor.get("ID")))
        if watch is None:
            return
        attributes = actor.get("Attributes")
        attributes = attributes if isinstance(attributes, dict) else {}
        match event.get("Action"):
            case "oom":
                watch.out_of_memory = True
            case "kill":
                watch.killed = watch.killed or attributes.get("signal") in _SIGKILL
            case "die":
                status = attributes.get("exitCode")
                watch.exit_status = int(status) if isinstance(status, str) and status.isdecimal() else None
            case "destroy" | "remove":  # the second is Podman's
                watch.gone.set()
            case _:
                pass
