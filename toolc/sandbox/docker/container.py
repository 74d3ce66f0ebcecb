"""Create, start and remove containers, and follow their events.

One stream of events per process reports the state of its containers. A container that removes itself cannot be
inspected afterwards, so this stream tells whether it ran out of memory (``oom``), its exit status (``die``) and when it
is removed (``destroy``). These events arrive in this order.
"""

import contextlib
import json
import os
import socket
import threading
import time
from pathlib import Path
from typing import Final
from urllib.parse import quote

from toolc.dataclass import dataclass, field
from toolc.model.errors import raise_shortage
from toolc.model.json_schema import JsonObject, JsonValue, list_under, map_under
from toolc.sandbox.docker.api_client import ApiError, Client, JsonLineStream
from toolc.sandbox.docker.container_config import LocalImage
from toolc.sandbox.docker.daemon import NAME_LABEL, OWNER_LABEL
from toolc.sandbox.images.metadata import content_names, volumes

CREATE_SECONDS: Final = 30.0
ATTACH_SECONDS: Final = 30.0
START_SECONDS: Final = 30.0
REMOVE_SECONDS: Final = 30.0
INSPECT_SECONDS: Final = 30.0
"""The timeout of each operation, in seconds, because disks are slow under load. All attempts at a removal share it."""

_PAUSE_SECONDS: Final = 0.01
"""How long to wait before a removal is tried again, in seconds.

The daemon needs milliseconds to notice the end of a container.
"""

OPEN_SECONDS: Final = 30.0
"""How long the stream may take to open, in seconds. An open stream has no timeout."""

STOP_SECONDS: Final = 5.0
"""How long the thread may take to end after ``stop``, in seconds.

Its connection is already closed, so it ends at once unless the machine is very busy.
"""

_SIGKILL: Final = ("9", "SIGKILL")
"""SIGKILL as daemons of different versions write it."""


def create_container(client: Client, name: str, body: JsonObject) -> str:
    """Create a container without starting it, and return its id. Raises ``ApiError``."""
    response = client.call("POST", f"/containers/create?name={name}", body, timeout=CREATE_SECONDS)
    container = response.get("Id") if isinstance(response, dict) else None
    if not isinstance(container, str):
        raise ApiError("the daemon created a container but did not return its id")
    return container


def attach_container(client: Client, container: str) -> tuple[socket.socket, bytes]:
    """Attach to a container's stdin, stdout and stderr, preferably before it starts. Raises ``ApiError``."""
    path = f"/containers/{container}/attach?stream=1&stdin=1&stdout=1&stderr=1"
    return client.upgrade(path, timeout=ATTACH_SECONDS)


def start_container(client: Client, container: str) -> None:
    """Start the container. Raises ``ApiError``."""
    client.call("POST", f"/containers/{container}/start", timeout=START_SECONDS)


def open_process(client: Client, container: str) -> int | None:
    """Return a descriptor (pidfd_open(2)) of process 1 of a container, or None if this process cannot see it.

    If the daemon runs on another machine or in another container, its processes are not visible here. Raises
    ``ApiError`` if the container has ended.
    """
    response = client.call("GET", f"/containers/{container}/json", timeout=INSPECT_SECONDS)
    state = response.get("State") if isinstance(response, dict) else None
    pid = state.get("Pid") if isinstance(state, dict) else None
    if not isinstance(pid, int) or pid == 0:
        raise ApiError("the container ended immediately after its start")
    try:
        process = os.pidfd_open(pid)
    except OSError as error:
        raise_shortage(error)
        return None
    with contextlib.ExitStack() as undo:
        undo.callback(os.close, process)
        try:
            groups = Path(f"/proc/{pid}/cgroup").read_text(encoding="utf-8")
        except OSError as error:
            raise_shortage(error)
            return None
        # With every driver, the name of a process's control group has the id of its container. Only root can set it.
        if container not in groups:
            return None
        undo.pop_all()
    return process


def remove_container(client: Client, container: str) -> bool:
    """Kill the container, and wait until it is removed. Return False if it does not exist.

    Raises ``ApiError`` if the daemon confirms neither.
    """
    deadline = time.monotonic() + REMOVE_SECONDS
    while True:
        left = max(deadline - time.monotonic(), _PAUSE_SECONDS)
        try:
            client.call("DELETE", f"/containers/{quote(container)}?force=1&v=1", timeout=left)
        except ApiError as error:
            if error.status == 404:
                return False
            # 409: the container is already being removed, for example by AutoRemove. "exit event": the daemon waits
            # ten seconds for killed processes, which may not get the CPU on a busy machine.
            if (error.status != 409 and "exit event" not in str(error)) or time.monotonic() > deadline:
                raise
        else:
            return True
        time.sleep(_PAUSE_SECONDS)


def find_image(client: Client, name: str) -> LocalImage | None:
    """Return the image that ``name`` refers to on this daemon now, or None if there is none.

    Raises ``ApiError``, or ``InfrastructureError`` for an image that cannot be used for a sandbox.
    """
    try:
        response = client.call("GET", f"/images/{quote(name)}/json", timeout=INSPECT_SECONDS)
    except ApiError as error:
        if error.status == 404:
            return None
        raise
    if not isinstance(response, dict) or not isinstance(response.get("Id"), str):
        raise ApiError(f"the daemon's description of the image {name} has no id")
    configuration = map_under(response, "Config")
    return LocalImage(
        str(response["Id"]),
        volumes(configuration.get("Volumes")),
        ours=_is_tagged(list_under(response, "RepoTags"), map_under(configuration, "Labels").get(NAME_LABEL)),
        names=content_names(response),
    )


@dataclass(slots=True)
class ContainerWatcher:
    """The events of one container so far. ``removed`` is set when the daemon has removed the container.

    ``killed`` is True if the daemon has sent it SIGKILL, on request or because the daemon is stopping.
    """

    out_of_memory: bool = False
    killed: bool = False
    exit_status: int | None = None
    removed: threading.Event = field(default_factory=threading.Event)


class EventStream:
    """The events of one owner's containers, read by a separate thread until ``stop``."""

    def __init__(self, client: Client, owner: str) -> None:
        """Open the stream. Raises ``ApiError``."""
        filters = json.dumps({"label": [f"{OWNER_LABEL}={owner}"], "type": ["container"]})
        self.owner = owner
        self._lock = threading.Lock()
        self._watches: dict[str, ContainerWatcher] = {}
        self._stopping = False
        self._stream = client.follow(f"/events?filters={quote(filters)}", timeout=OPEN_SECONDS)
        self._thread = threading.Thread(target=self._follow, args=(self._stream,), name="toolc-events", daemon=True)
        self._thread.start()

    @property
    def is_alive(self) -> bool:
        """Whether the stream is open. A restart of the daemon ends it."""
        return self._thread.is_alive()

    def watch(self, container: str) -> ContainerWatcher:
        """Collect the events of a container from now on. Call it before the container is started."""
        with self._lock:
            return self._watches.setdefault(container, ContainerWatcher())

    def unwatch(self, container: str) -> None:
        """Stop collecting the events of a container. After ``stop``, the stream ends with the last one."""
        with self._lock:
            self._watches.pop(container, None)
        self._end_if_unused()

    def stop(self) -> None:
        """Close the stream as soon as no container is watched."""
        self._stopping = True
        self._end_if_unused()

    def _end_if_unused(self) -> None:
        with self._lock:
            is_unused = self._stopping and not self._watches
        if is_unused:
            self._stream.stop()
            self._thread.join(timeout=STOP_SECONDS)

    def _follow(self, stream: JsonLineStream) -> None:
        for event in stream:
            self._handle(event)

    def _handle(self, event: JsonValue) -> None:
        if not isinstance(event, dict):
            return
        actor = map_under(event, "Actor")
        with self._lock:
            watch = self._watches.get(str(actor.get("ID")))
        if watch is None:
            return
        attributes = map_under(actor, "Attributes")
        match event.get("Action"):
            case "oom":
                watch.out_of_memory = True
            case "kill":
                watch.killed = watch.killed or attributes.get("signal") in _SIGKILL
            case "die":
                status = attributes.get("exitCode")
                watch.exit_status = int(status) if isinstance(status, str) and status.isdecimal() else None
            case "destroy" | "remove":  # Podman's name of the event is "remove"
                watch.removed.set()
            case _:
                pass


def _is_tagged(tags: list[JsonValue], name: JsonValue) -> bool:
    """Return whether an image has the tag of toolc's image ``name``. Derived images inherit only its labels.

    Podman adds ``localhost/`` to the tags of images that are not from a registry.
    """
    return any(str(tag).removeprefix("localhost/").startswith(f"toolc/{name}:") for tag in tags)
