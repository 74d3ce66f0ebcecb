"""Remove the containers of dead owners. The janitor and the first start of the next process run it."""

import json
import time
from collections.abc import Callable
from functools import partial
from typing import Final
from urllib.parse import quote

from toolc.model.errors import InfrastructureError
from toolc.sandbox.docker.api_client import ApiError, Client
from toolc.sandbox.docker.container import remove_container
from toolc.sandbox.docker.daemon import OWNER_LABEL
from toolc.sandbox.host.owner import Owner
from toolc.sandbox.interface import Leftover

SECONDS: Final = 10.0
"""The timeout of each request, in seconds. The janitor does not wait longer, see ``DEADLINE_SECONDS``."""

ID_LENGTH: Final = 12
"""The length of an id as ``docker ps`` shows it."""

CONTAINER: Final = "container"
KINDS: Final = (CONTAINER, "volume")
"""The kinds of objects in the order of removal. A volume can be removed only after its container."""

QUIET_SECONDS: Final = 0.5
"""How long a create request may still run after its client died, in seconds. Creating a container takes less time.

If a container is created later, ``toolc gc`` or the next process finds it.
"""


def sweep_owner(socket_path: str, version_prefix: str, owner: str) -> bool:
    """Remove everything that ``owner`` has left, and return whether there may be more. The janitor calls this."""
    client = Client(socket_path, version_prefix)
    try:
        found = sweep(client, CONTAINER, lambda label: label == owner)
        time.sleep(QUIET_SECONDS)
        found += sum(sweep(client, kind, lambda label: label == owner) for kind in KINDS)
    except ApiError as error:
        # Without a socket, or the permission to use it, nothing can be removed. Any other daemon may be back soon.
        return not isinstance(error.__cause__, FileNotFoundError | PermissionError)
    return found > 0


def is_stale(label: str) -> bool:
    """Return whether the owner in a label is known to be dead."""
    owner = Owner.parse(label)
    return owner is not None and owner.is_stale()


def sweep(client: Client, kind: str, is_ours: Callable[[str], bool]) -> int:
    """Remove each object of a kind whose owner label satisfies ``is_ours``, except volumes that a container uses.

    Return the number of objects found. Raises ``ApiError`` if the daemon does not answer.
    """
    found = 0
    for name, label in _listed(client, kind):
        if is_ours(label):
            try:
                client.call("DELETE", _path(kind, name), timeout=SECONDS)
                found += 1
            except ApiError as error:
                if error.status == 0:
                    raise
                found += kind == CONTAINER  # it is being removed, or cannot be; a volume is in use
    return found


def leftovers(client: Client) -> tuple[Leftover, ...]:
    """Return every container and every volume that was created for a call. Raises ``ApiError``."""
    return tuple(
        Leftover(
            kind=kind, name=name[:ID_LENGTH], owner=label, kept=owner.reason_kept(),
            remove=partial(_remove, client, kind, name),
        )
        for kind in KINDS
        for name, label in _listed(client, kind)
        if (owner := Owner.parse(label))
    )  # fmt: skip


def _remove(client: Client, kind: str, name: str) -> None:
    """Remove an object, unless it does not exist or is already being removed. Raises ``InfrastructureError``."""
    try:
        if kind == CONTAINER:
            remove_container(client, name)
        else:
            client.call("DELETE", _path(kind, name), timeout=SECONDS)
    except ApiError as error:
        if error.status not in {404, 409} or "in use" in str(error):
            raise InfrastructureError(str(error)) from error


def _listed(client: Client, kind: str) -> list[tuple[str, str]]:
    """Return the id or name, and the owner's label, of each object of a kind."""
    filters = quote(json.dumps({"label": [OWNER_LABEL]}))
    path = "/containers/json?all=1&" if kind == CONTAINER else "/volumes?"
    listed = client.call("GET", f"{path}filters={filters}", timeout=SECONDS)
    entries = listed.get("Volumes") if isinstance(listed, dict) else listed
    found = []
    for entry in entries if isinstance(entries, list) else []:
        labels = entry.get("Labels") if isinstance(entry, dict) else None
        if isinstance(entry, dict) and isinstance(labels, dict):
            found.append((str(entry.get("Id") or entry.get("Name")), str(labels.get(OWNER_LABEL))))
    return found


def _path(kind: str, name: str) -> str:
    return f"/containers/{quote(name)}?force=1&v=1" if kind == CONTAINER else f"/volumes/{quote(name)}"
