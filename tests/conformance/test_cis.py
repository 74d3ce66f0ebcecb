"""The CIS Docker Benchmark, section 5 (container runtime), against a container of ours."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from toolc.engines.docker import DockerEngine
from toolc.plan import Mount, Profile

Container = dict[str, Any]
"""What ``docker inspect`` says; Any, for it is the daemon's JSON."""

CHECKS: dict[str, Callable[[Container], bool]] = {
    "5.2 AppArmor is not switched off": lambda c: c["AppArmorProfile"] != "unconfined",
    "5.3 SELinux is not switched off": lambda c: "label=disable" not in c["HostConfig"]["SecurityOpt"],
    "5.4 capabilities are restricted": lambda c: (
        c["HostConfig"]["CapDrop"] == ["ALL"] and not c["HostConfig"]["CapAdd"]
    ),
    "5.5 no container is privileged": lambda c: c["HostConfig"]["Privileged"] is False,
    "5.6 no sensitive folder of the host is mounted": lambda c: (
        {mount["Destination"] for mount in c["Mounts"]} == {"/workspace"}
    ),
    "5.7 no sshd runs": lambda c: c["Config"]["Entrypoint"] == ["python3"],
    "5.8 no privileged port is mapped": lambda c: not c["HostConfig"]["PortBindings"],
    "5.9 no port is open": lambda c: not c["NetworkSettings"]["Ports"] and not c["HostConfig"]["PublishAllPorts"],
    "5.10 the host's network is not shared": lambda c: c["HostConfig"]["NetworkMode"] == "none",
    "5.11 memory is limited": lambda c: (
        c["HostConfig"]["Memory"] == c["HostConfig"]["MemorySwap"] == Profile().limits.memory_bytes
    ),
    "5.12 cpu is limited": lambda c: c["HostConfig"]["NanoCpus"] == 1_000_000_000,
    "5.13 the root is read-only": lambda c: c["HostConfig"]["ReadonlyRootfs"] is True,
    "5.15 nothing is started again": lambda c: c["HostConfig"]["RestartPolicy"]["Name"] in {"no", ""},
    "5.16 the host's processes are not shared": lambda c: c["HostConfig"]["PidMode"] == "",
    "5.17 the host's IPC is not shared": lambda c: c["HostConfig"]["IpcMode"] == "none",
    "5.18 no device is exposed": lambda c: not c["HostConfig"]["Devices"] and not c["HostConfig"]["DeviceRequests"],
    "5.19 ulimits are set": lambda c: {each["Name"] for each in c["HostConfig"]["Ulimits"]} >= {"core"},
    "5.20 no mount is propagated": lambda c: {mount["Propagation"] for mount in c["Mounts"]} == {"rprivate"},
    "5.21 the host's name is not shared": lambda c: c["HostConfig"]["UTSMode"] == "",
    "5.22 seccomp is on": lambda c: any(
        option.startswith("seccomp=") and "unconfined" not in option for option in c["HostConfig"]["SecurityOpt"]
    ),
    "5.25 the daemon's own group is used": lambda c: c["HostConfig"]["CgroupParent"] == "",
    "5.26 no privileges can be gained": lambda c: "no-new-privileges" in c["HostConfig"]["SecurityOpt"],
    "5.28 the image is named by its digest": lambda c: c["Config"]["Image"].startswith("sha256:"),
    "5.29 processes are limited": lambda c: c["HostConfig"]["PidsLimit"] == Profile().limits.pids,
    "5.30 the default bridge is not used": lambda c: set(c["NetworkSettings"]["Networks"]) <= {"none"},
    "5.31 the host's user namespace is not asked for": lambda c: c["HostConfig"]["UsernsMode"] == "",
    "5.32 the daemon's socket is not mounted": lambda c: "docker.sock" not in str(c["Mounts"]),
}

NOT_OURS = {
    "5.1": "swarm mode is the daemon's own configuration",
    "5.14": "no port is mapped, so there is no interface to bind it to",
    "5.23": "nothing is ever run by docker exec",
    "5.24": "nothing is ever run by docker exec",
    "5.27": "a container lives as long as one call, over whose stream its guest is heard",
}


@pytest.fixture(scope="module")
def container() -> Iterator[Container]:
    """A container with a workspace, as it waits for its call."""
    engine = DockerEngine()
    if reason := engine.refusal(Profile()):
        pytest.skip(reason)
    with tempfile.TemporaryDirectory() as folder:
        mount = Mount(source=str(Path(folder).resolve()), mode="rw", owner=1234, group=1234)
        sandbox = engine.start(Profile(workspace=mount), ["-c", "import os; os.read(0, 1)"])
        try:
            found = engine._connect().client.call("GET", f"/containers/{sandbox.container}/json", timeout=20)
            assert isinstance(found, dict)
            yield found
        finally:
            sandbox.close()
            engine.close()


@pytest.mark.parametrize("item", CHECKS)
def test_our_containers_keep(container: Container, item: str) -> None:
    assert CHECKS[item](container), container["HostConfig"]


def test_every_item_is_checked_or_has_its_reason() -> None:
    numbers = {item.partition(" ")[0] for item in CHECKS} | set(NOT_OURS)
    assert numbers == {f"5.{number}" for number in range(1, 33)}
