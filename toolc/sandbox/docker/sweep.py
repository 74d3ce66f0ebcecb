"""Remove the containers of dead owners. The janitor and the first start of the next process run it."""

import json
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Final
from urllib.parse import quote

from toolc.model.errors import InfrastructureError
from toolc.sandbox.base import Leftover
from toolc.sandbox.docker.api_client import ApiError, Client
from toolc.sandbox.docker.container import remove_container
from toolc.sandbox.docker.daemon import OWNER_LABEL
from toolc.sandbox.host.owner import Owner

SECONDS: Final = 10.0
"""The timeout of each request, in seconds. The janitor waits no longer, see ``DEADLINE_SECONDS``."""

ID_LENGTH: Final = 12
"""The length of an id as ``docker ps`` shows it."""

QUIET_SECONDS: Final = 0.5
"""How long a create request may still run after its client died, in seconds. Creating a container takes less.

What is created later is found by ``toolc gc`` and the next process.
"""


def sweep_owner(socket_path: str, version_prefix: str, owner: str) -> bool:
    """Remove everything that ``owner`` has left; return whether there may be more. The janitor calls it."""
    client = Client(socket_path, version_prefix)
    try:
        found = sweep(client, lambda label: label == owner)
        time.sleep(QUIET_SECONDS)
        found += sweep(client, lambda label: label == owner)
        found += sweep_volumes(client, lambda label: label == owner)
    except ApiError as error:
        # A daemon whose socket was removed, or may no longer be used, removes nothing; any other may be back soon.
        return not isinstance(error.__cause__, FileNotFoundError | PermissionError)
    return found > 0


def is_stale(label: str) -> bool:
    """Return whether the owner in a label is known to be dead."""
    owner = Owner.parse(label)
    return owner is not None and owner.is_stale()


def sweep(client: Client, is_ours: Callable[[str], bool]) -> int:
    """Remove each container whose owner label satisfies ``is_ours``; return their number. Raises ``ApiError``."""
    found = [container for container, label in _containers(client) if is_ours(label)]
    for container in found:
        try:
            _delete(client, f"/containers/{quote(container)}?force=1&v=1")
        except ApiError as error:
            # Continue with the others if one cannot be removed; stop if the daemon does not answer.
            if error.status == 0:
                raise
    return len(found)


def sweep_volumes(client: Client, is_ours: Callable[[str], bool]) -> int:
    """Remove volumes that no container uses; return their number. Raises ``ApiError``."""
    removed = 0
    for volume in [volume for volume, label in _volumes(client) if is_ours(label)]:
        try:
            client.call("DELETE", f"/volumes/{quote(volume)}", timeout=SECONDS)
            removed += 1
        except ApiError as error:
            if error.status == 0:
                raise
    return removed


def leftovers(client: Client) -> tuple[Leftover, ...]:
    """Return every container and every volume that was created for a call. Raises ``ApiError``."""
    # A container must be removed completely before its volume can be removed.
    containers = [
        _leftover("container", container, label, partial(remove_container, client, container))
        for container, label in _containers(client)
    ]
    volumes = [
        _leftover("volume", volume, label, partial(_delete, client, f"/volumes/{quote(volume)}"))
        for volume, label in _volumes(client)
    ]
    return tuple(found for found in (*containers, *volumes) if found)


def _leftover(kind: str, name: str, label: str, delete: Callable[[], object]) -> Leftover | None:
    owner = Owner.parse(label)
    if owner is None:
        return None

    def remove() -> None:
        try:
            delete()
        except ApiError as error:
            raise InfrastructureError(str(error)) from error

    return Leftover(kind=kind, name=name[:ID_LENGTH], owner=label, kept=owner.reason_kept(), remove=remove)


def _containers(client: Client) -> Iterator[tuple[str, str]]:
    """Yield the id and the owner's label of each container."""
    filters = quote(json.dumps({"label": [OWNER_LABEL]}))
    listed = client.call("GET", f"/containers/json?all=1&filters={filters}", timeout=SECONDS)
    for entry in listed if isinstance(listed, list) else []:
        labels = entry.get("Labels") if isinstance(entry, dict) else None
        if isinstance(entry, dict) and isinstance(labels, dict):
            yield str(entry.get("Id")), str(labels.get(OWNER_LABEL))


def _volumes(client: Client) -> Iterator[tuple[str, str]]:
    """Yield the name and the owner's label of each volume."""
    filters = quote(json.dumps({"label": [OWNER_LABEL]}))
    listed = client.call("GET", f"/volumes?filters={filters}", timeout=SECONDS)
    entries = listed.get("Volumes") if isinstance(listed, dict) else None
    for entry in entries if isinstance(entries, list) else []:
        labels = entry.get("Labels") if isinstance(entry, dict) else None
        if isinstance(entry, dict) and isinstance(labels, dict):
            yield str(entry.get("Name")), str(labels.get(OWNER_LABEL))


def _delete(client: Client, path: str) -> None:
    """Remove an object; ignore that it does not exist or is already being removed. Raises ``ApiError``."""
    try:
        client.call("DELETE", path, timeout=SECONDS)
    except ApiError as error:
        if error.status not in {404, 409} or "in use" in str(error):
            raise
