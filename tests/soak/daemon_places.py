"""Where a Docker daemon keeps what it makes for a container, and what it has mounted for none."""

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
"""How long the daemon may take over each question."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DaemonPlaces:
    """A daemon, and its folders on this machine."""

    client: Client
    exec_root: Path
    data_root: Path

    @staticmethod
    def of(client: Client) -> DaemonPlaces:
        """Found by the process that listens at its socket, and by what it says itself."""
        info = client.call("GET", "/info", timeout=SECONDS)
        data = info.get("DockerRootDir") if isinstance(info, dict) else None
        return DaemonPlaces(
            client=client, exec_root=_exec_root(client.socket_path), data_root=Path(str(data or "/var/lib/docker"))
        )

    def folders(self) -> tuple[Path, ...]:
        """Those with an entry for each container: not its layers, which bear another name and are many."""
        layers = self.data_root.glob("image/*/layerdb/mounts")
        return (self.exec_root, self.data_root / "containers", *layers)

    def mounts(self) -> frozenset[str]:
        """The network namespaces and the root folders that it keeps mounted, one each for a container that runs."""
        lines = Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines()
        points = {line.split(" ")[4] for line in lines}
        namespaces, layers = (os.path.realpath(top) for top in (self.exec_root / "netns", self.data_root))
        ours = rf"{re.escape(namespaces)}/(?!default$)[^/]+|{re.escape(layers)}/.*/merged"
        return frozenset(point for point in points if re.fullmatch(ours, point))

    def held(self) -> frozenset[str]:
        """Those of them that a container has, whoever's it is."""
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
        """The containers that its network ``none`` counts as connected."""
        network = self.client.call("GET", "/networks/none", timeout=SECONDS)
        containers = network.get("Containers") if isinstance(network, dict) else None
        return frozenset(containers) if isinstance(containers, dict) else frozenset()


def _text(value: object, *keys: str) -> str:
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return str(value)


def _exec_root(socket_path: str) -> Path:
    """What the process at the other end was told (dockerd(8)); its default where that cannot be seen."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(socket_path)
        answer = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    pid, _, _ = struct.unpack("3i", answer)
    try:
        command = Path(f"/proc/{pid}/cmdline").read_text(encoding="utf-8")
    except OSError:
        command = ""
    told = re.search(r"(?:^|\0)--exec-root[=\0]([^\0]+)", command)
    return Path(told[1] if told else "/var/run/docker")
