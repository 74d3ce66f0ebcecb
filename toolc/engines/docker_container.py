"""The requests that make, join and end a container."""

from __future__ import annotations

import socket
import time
from typing import Final
from urllib.parse import quote

from toolc.engines import image_volumes
from toolc.engines.docker_body import NAME_LABEL, LocalImage
from toolc.engines.docker_http import ApiError, Client
from toolc.engines.image_names import names_of
from toolc.model.json_schema import JsonObject, JsonValue

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
        image_volumes.volumes(volumes),
        ours=isinstance(labels, dict) and _is_tagged(answer.get("RepoTags"), labels.get(NAME_LABEL)),
        names=names_of(answer),
    )


def _is_tagged(tags: JsonValue, name: JsonValue) -> bool:
    """Whether an image has the tag of toolc's image ``name``; what is built on one inherits only its labels."""
    return isinstance(tags, list) and any(str(tag).startswith(f"toolc/{name}:") for tag in tags)
