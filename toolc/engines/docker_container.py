"""The requests that make, join and end a container."""

from __future__ import annotations

import socket
import time
from typing import Final
from urllib.parse import quote

from toolc.engines.docker_body import LocalImage
from toolc.engines.docker_http import ApiError, Client
from toolc.schema import JsonObject

_SLOW: Final = 60.0
"""Seconds for what a loaded daemon may take long over: to create, start or remove."""

_QUICK: Final = 10.0
"""Seconds for the rest."""

_PAUSE: Final = 0.01


def create(client: Client, name: str, body: JsonObject) -> str:
    """Make a container that does not run yet; its id. Raises ``ApiError``."""
    answer = client.call("POST", f"/containers/create?name={name}", body, timeout=_SLOW)
    found = answer.get("Id") if isinstance(answer, dict) else None
    if not isinstance(found, str):
        raise ApiError("the daemon created a container and did not say which")
    return found


def attach(client: Client, container: str) -> tuple[socket.socket, bytes]:
    """Join its stdin, stdout and stderr, best before it starts. Raises ``ApiError``."""
    path = f"/containers/{container}/attach?stream=1&stdin=1&stdout=1&stderr=1"
    return client.upgrade(path, timeout=_QUICK)


def start(client: Client, container: str) -> None:
    """Start it. Raises ``ApiError``."""
    client.call("POST", f"/containers/{container}/start", timeout=_SLOW)


def remove(client: Client, container: str) -> None:
    """Kill and remove it, and return when it is gone, or was. Raises ``ApiError`` where that cannot be said."""
    deadline = time.monotonic() + _SLOW
    while True:
        try:
            client.call("DELETE", f"/containers/{quote(container)}?force=1&v=1", timeout=_SLOW)
        except ApiError as error:
            if error.status == 404:
                return
            # 409: a removal is under way already, as AutoRemove's.
            if error.status != 409 or time.monotonic() > deadline:
                raise
        else:
            return
        time.sleep(_PAUSE)


def find_image(client: Client, name: str) -> LocalImage | None:
    """The image that ``name`` means on this daemon now; None if it has none. Raises ``ApiError``."""
    try:
        answer = client.call("GET", f"/images/{quote(name)}/json", timeout=_QUICK)
    except ApiError as error:
        if error.status == 404:
            return None
        raise
    if not isinstance(answer, dict) or not isinstance(answer.get("Id"), str):
        raise ApiError(f"the daemon's answer about the image {name} has no id")
    configuration = answer.get("Config")
    volumes = configuration.get("Volumes") if isinstance(configuration, dict) else None
    return LocalImage(str(answer["Id"]), tuple(volumes) if isinstance(volumes, dict) else ())
