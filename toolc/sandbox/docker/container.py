"""What the daemon says about our containers while they live: one stream of events per process.

A container that removes itself leaves nothing to inspect, so its exit status, whether it ran out of memory,
and that it is gone all come from here: ``oom`` before ``die``, ``die`` before ``destroy``.
"""

from __future__ import annotations

import json
import socket
import threading
import time
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import quote

from toolc.model.json_schema import JsonObject, JsonValue
from toolc.sandbox.docker.api_client import ApiError, Client, JsonLineStream
from toolc.sandbox.docker.container_config import LocalImage
from toolc.sandbox.docker.daemon import NAME_LABEL, OWNER_LABEL
from toolc.sandbox.images import metadata
from toolc.sandbox.images.metadata import names_of

CREATE_SECONDS: Final = 30.0
"""How long a daemon may take to create a container: a loaded one's disks are slow."""

ATTACH_SECONDS: Final = 30.0
"""To join its streams."""

START_SECONDS: Final = 30.0
"""To start it."""

REMOVE_SECONDS: Final = 30.0
"""To kill and remove it, all attempts together."""

INSPECT_SECONDS: Final = 30.0
"""To say what an image is."""

_PAUSE_SECONDS: Final = 0.01


def create(client: Client, name: str, body: JsonObject) -> str:
    """Make a container that does not run yet; its id. Raises ``ApiError``."""
    answer = client.call("POST", f"/containers/create?name={name}", body, timeout=CREATE_SECONDS)
    found = answer.get("Id") if isinstance(answer, dict) else None
    if not isinstance(found, str):
        raise ApiError("the daemon created a container and did not say which")
    return found


def attach(client: Client, container: str) -> tuple[socket.socket, bytes]:
    """Join its stdin, stdout and stderr, best before it starts. Raises ``ApiError``."""
    path = f"/containers/{container}/attach?stream=1&stdin=1&stdout=1&stderr=1"
    return client.upgrade(path, timeout=ATTACH_SECONDS)


def start(client: Client, container: str) -> None:
    """Start it. Raises ``ApiError``."""
    client.call("POST", f"/containers/{container}/start", timeout=START_SECONDS)


def remove(client: Client, container: str) -> bool:
    """Kill and remove it, and return when it is gone; False if it never was, or was gone by itself.

    Raises ``ApiError`` where that cannot be said.
    """
    deadline = time.monotonic() + REMOVE_SECONDS
    while True:
        left = max(deadline - time.monotonic(), _PAUSE_SECONDS)
        try:
            client.call("DELETE", f"/containers/{quote(container)}?force=1&v=1", timeout=left)
        except ApiError as error:
            if error.status == 404:
                return False
            # 409: a removal is under way already, as AutoRemove's.
            if error.status != 409 or time.monotonic() > deadline:
                raise
        else:
            return True
        time.sleep(_PAUSE_SECONDS)


def find_image(client: Client, name: str) -> LocalImage | None:
    """The image that ``name`` means on this daemon now; None if it has none.

    Raises ``ApiError``, and ``InfrastructureError`` for an image that no sandbox can have.
    """
    try:
        answer = client.call("GET", f"/images/{quote(name)}/json", timeout=INSPECT_SECONDS)
    except ApiError as error:
        if error.status == 404:
            return None
        raise
    if not isinstance(answer, dict) or not isinstance(answer.get("Id"), str):
        raise ApiError(f"the daemon's answer about the image {name} has no id")
    configuration = answer.get("Config")
    configuration = configuration if isinstance(configuration, dict) else {}
    volumes, labels = configuration.get("Volumes"), configuration.get("Labels")
    return LocalImage(
        str(answer["Id"]),
        metadata.volumes(volumes),
        ours=isinstance(labels, dict) and _is_tagged(answer.get("RepoTags"), labels.get(NAME_LABEL)),
        names=names_of(answer),
    )


def _is_tagged(tags: JsonValue, name: JsonValue) -> bool:
    """Whether an image has the tag of toolc's image ``name``; what is built on one inherits only its labels."""
    return isinstance(tags, list) and any(str(tag).startswith(f"toolc/{name}:") for tag in tags)


OPEN_SECONDS: Final = 30.0
"""How long the stream may take to begin; once open it has no end."""

STOP_SECONDS: Final = 5.0
"""How long its thread may take to notice that it was stopped."""


_SIGKILL: Final = ("9", "SIGKILL")
"""As daemons of different ages say it."""


@dataclass(slots=True)
class ContainerWatcher:
    """What has been said about one container so far. ``gone`` is set when the daemon has removed it.

    ``killed``: the daemon itself sent it SIGKILL, because somebody asked for that or because it is stopping.
    """

    out_of_memory: bool = False
    killed: bool = False
    exit_status: int | None = None
    gone: threading.Event = field(default_factory=threading.Event)


class EventStream:
    """The events of one owner's containers, read by a thread of its own until ``stop``."""

    def __init__(self, client: Client, owner: str) -> None:
        """Open the stream. Raises ``ApiError``."""
        filters = json.dumps({"label": [f"{OWNER_LABEL}={owner}"], "type": ["container"]})
        self.owner = owner
        self._lock = threading.Lock()
        self._watches: dict[str, ContainerWatcher] = {}
        self._stopping = False
        self._feed = client.follow(f"/events?filters={quote(filters)}", timeout=OPEN_SECONDS)
        self._thread = threading.Thread(target=self._follow, args=(self._feed,), name="toolc-events", daemon=True)
        self._thread.start()

    @property
    def alive(self) -> bool:
        """Whether the stream still runs: a daemon that restarts ends it."""
        return self._thread.is_alive()

    def watch(self, container: str) -> ContainerWatcher:
        """Collect what is said about a container from now on; call before it is started."""
        with self._lock:
            return self._watches.setdefault(container, ContainerWatcher())

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

    def _follow(self, feed: JsonLineStream) -> None:
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
