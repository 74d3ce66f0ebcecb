"""The folders and mounts that a Docker daemon creates for containers."""

from __future__ import annotations

import os
import re
import socket
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from toolc.sandbox.docker.api_client import ApiError, Client

SECONDS = 60.0
"""The timeout of each request to the daemon."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DaemonPlaces:
    """A daemon and its folders on this machine."""

    client: Client
    exec_root: Path
    data_root: Path

    @staticmethod
    def of(client: Client) -> DaemonPlaces:
        """Find the folders from the command line of the daemon and its own information."""
        info = client.call("GET", "/info", timeout=SECONDS)
        data = info.get("DockerRootDir") if isinstance(info, dict) else None
        return DaemonPlaces(
            client=client, exec_root=_exec_root(client.socket_path), data_root=Path(str(data or "/var/lib/docker"))
        )

    def folders(self) -> tuple[Path, ...]:
        """Return the folders with one entry per container, without layers, which have other names."""
        layers = self.data_root.glob("image/*/layerdb/mounts")
        return (self.exec_root, self.data_root / "containers", *layers)

    def mounts(self) -> frozenset[str]:
        """Return the mounted network namespaces and root folders, one of each per running container."""
        lines = Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines()
        points = {line.split(" ")[4] for line in lines}
        namespaces, layers = (os.path.realpath(top) for top in (self.exec_root / "netns", self.data_root))
        ours = rf"{re.escape(namespaces)}/(?!default$)[^/]+|{re.escape(layers)}/.*/merged"
        return frozenset(point for point in points if re.fullmatch(ours, point))

    def held(self) -> frozenset[str]:
        """Return the mounts that belong to any container."""
        listed = self.client.call("GET", "/containers/json?all=1", timeout=SECONDS)
        entries = listed if isinstance(listed, list) else []
        return frozenset(point for entry in entries for point in self._mounts_of(entry))

    def _mounts_of(self, entry: object) -> Iterator[str]:
        try:
            found = self.client.call("GET", f"/containers/{_text(entry, 'Id')}/json", timeout=SECONDS)
        except ApiError as error:
            if error.status == 404:
                return
            raise
        yield os.path.realpath(_text(found, "NetworkSettings", "SandboxKey"))
        yield os.path.realpath(_text(found, "GraphDriver", "Data", "MergedDir"))

    def connected(self) -> frozenset[str]:
        """Return the containers connected to the network ``none``."""
        network = self.client.call("GET", "/networks/none", timeout=SECONDS)
        containers = network.get("Containers") if isinstance(network, dict) else None
        return frozenset(containers) if isinstance(containers, dict) else frozenset()


def _text(value: object, *keys: str) -> str:
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return str(value)


def _exec_root(socket_path: str) -> Path:
    """Return the option ``--exec-root`` of the daemon (dockerd(8)), or its default if it is not visible."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(socket_path)
        answer = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    pid, _, _ = struct.unpack("3i", answer)
    try:
        command = Path(f"/proc/{pid}/cmdline").read_text(encoding="utf-8")
    except OSError:
        command = ""
    match = re.search(r"(?:^|\0)--exec-root[=\0]([^\0]+)", command)
    return Path(match[1] if match else "/var/run/docker")
