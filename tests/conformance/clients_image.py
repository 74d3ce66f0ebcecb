"""The image with the programs of ``test_egress_clients``.

The usual daemon builds it, because only its builds have a network. The daemon that has gVisor may be another one, in a
network namespace; it gets a copy.
"""

import hashlib
import os
from functools import cache
from pathlib import Path

from engines.gvisor_daemon import gvisor_socket
from engines.own_daemon import copy_image

from toolc.sandbox.docker import sdk
from toolc.sandbox.docker.api_client import find_socket
from toolc.sandbox.docker.daemon import connect
from toolc.sandbox.host import store
from toolc.sandbox.images.stored import base_tag

FOLDER = Path(__file__).parent / "clients"


@cache
def clients_image(configuration: str) -> str | None:
    """Return its tag, or None if sandboxes have the programs of the host. The daemon must have the base image."""
    if configuration.startswith("oci"):
        return None
    usual = find_socket(os.environ)
    client = connect(usual).client
    base = client.call("GET", f"/images/{base_tag()}/json", timeout=60)
    assert isinstance(base, dict)
    recipe = (FOLDER / "Dockerfile").read_bytes() + str(base["Id"]).encode()
    tag = f"toolc-tests/clients:{hashlib.sha256(recipe).hexdigest()[:12]}"
    with store.locked("build", tag):
        if not sdk.has_image(client, tag):
            progress: list[str] = []
            sdk.build_folder(client, folder=FOLDER, tag=tag, base=base_tag(), labels={}, on_progress=progress.append)
        if configuration == "docker+gvisor" and not sdk.has_image(connect(gvisor_socket()).client, tag):
            copy_image(tag, usual, gvisor_socket())
    return tag
