"""Remove the containers of owners that are dead: by the janitor, and by the next process's first start."""

from __future__ import annotations

import contextlib
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final
from urllib.parse import quote

from toolc.engines.docker_body import OWNER_LABEL
from toolc.engines.docker_http import ApiError, Client
from toolc.engines.owner import Owner

TIMEOUT: Final = 10.0
"""Seconds for each request."""

QUIET_SECONDS: Final = 0.5
"""A create that was under way when its client died is done by then."""

_BOOT = "import sys; sys.path.append(sys.argv[1]); from toolc.engines.docker_sweep import main; main()"


def command(client: Client, owner: str) -> list[str]:
    """The command for the janitor that removes all that ``owner`` has left."""
    root = str(Path(__file__).resolve().parents[2])
    return [sys.executable, "-I", "-S", "-c", _BOOT, root, client.socket_path, client.version_prefix, owner]


def main() -> None:
    """Run by the janitor: exit with 0 if there was nothing to remove, else with 1."""
    _, _, socket_path, version_prefix, owner = sys.argv
    client = Client(socket_path, version_prefix)
    try:
        found = sweep(client, lambda label: label == owner)
        time.sleep(QUIET_SECONDS)
        found += sweep(client, lambda label: label == owner)
    except ApiError:
        # A daemon that is gone, or no longer ours to use: nothing can be removed through it.
        sys.exit(0)
    sys.exit(1 if found else 0)


def belongs_to_dead(label: str) -> bool:
    """Whether the owner that a label names is proven to be dead."""
    owner = Owner.parse(label)
    return owner is not None and owner.is_dead()


def sweep(client: Client, is_ours: Callable[[str], bool]) -> int:
    """Remove each container whose owner label satisfies ``is_ours``; how many there were. Raises ``ApiError``."""
    filters = quote(json.dumps({"label": [OWNER_LABEL]}))
    listed = client.call("GET", f"/containers/json?all=1&filters={filters}", timeout=TIMEOUT)
    count = 0
    for entry in listed if isinstance(listed, list) else []:
        labels = entry.get("Labels") if isinstance(entry, dict) else None
        if isinstance(entry, dict) and isinstance(labels, dict) and is_ours(str(labels.get(OWNER_LABEL))):
            count += 1
            remove(client, str(entry.get("Id")))
    return count


def remove(client: Client, container: str) -> None:
    """Kill and remove a container; one that is already gone, or on its way, is fine."""
    with contextlib.suppress(ApiError):
        client.call("DELETE", f"/containers/{quote(container)}?force=1&v=1", timeout=TIMEOUT)
