"""The CIS Docker Benchmark 1.6.0, section 5 (container runtime), checked on the containers of running calls."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import pytest
from conformance_case import Case, python
from engines.configurations import configured

from toolc.client.executor import Executor
from toolc.client.registry import Registry
from toolc.model.events import Event, ToolUpdate
from toolc.model.plan import Profile
from toolc.runtime.cancellation import Cancellation
from toolc.sandbox.docker.container_config import GVISOR_MEMORY, GVISOR_OWN, GVISOR_THREADS
from toolc.sandbox.docker.daemon import OWNER_LABEL
from toolc.sandbox.docker.engine import DockerEngine
from toolc.sandbox.docker.streams import FOLDER
from toolc.sandbox.host.owner import Owner

LIMITS: Final = Profile().limits

Container = dict[str, Any]
"""The output of ``docker inspect``, which is JSON of the daemon."""

CHECKS: dict[str, Callable[[Container], bool]] = {
    "5.2 AppArmor is not disabled": lambda c: c["AppArmorProfile"] != "unconfined",
    "5.3 SELinux is not disabled": lambda c: "label=disable" not in c["HostConfig"]["SecurityOpt"],
    "5.4 capabilities are restricted": lambda c: (
        c["HostConfig"]["CapDrop"] == ["ALL"] and not c["HostConfig"]["CapAdd"]
    ),
    "5.5 no container is privileged": lambda c: c["HostConfig"]["Privileged"] is False,
    "5.6 no sensitive folder of the host is mounted": lambda c: (
        {mount["Destination"] for mount in c["Mounts"] if mount["RW"]} <= {"/workspace"}
        and {mount["Destination"] for mount in c["Mounts"]} <= {"/workspace", FOLDER, "/etc/hosts", "/etc/resolv.conf"}
    ),
    "5.7 no sshd runs": lambda c: c["Config"]["Entrypoint"] == ["python3"],
    "5.8 no privileged port is mapped": lambda c: not c["HostConfig"]["PortBindings"],
    "5.9 no port is open": lambda c: not c["NetworkSettings"]["Ports"] and not c["HostConfig"]["PublishAllPorts"],
    "5.10 the host's network is not shared": lambda c: c["HostConfig"]["NetworkMode"] == "none",
    "5.11 memory is limited": lambda c: (
        0 < c["HostConfig"]["Memory"] == c["HostConfig"]["MemorySwap"] <= LIMITS.memory_bytes + GVISOR_MEMORY
    ),
    "5.12 cpu is limited": lambda c: c["HostConfig"]["NanoCpus"] == 1_000_000_000,
    "5.13 the root is read-only": lambda c: c["HostConfig"]["ReadonlyRootfs"] is True,
    "5.15 nothing is started again": lambda c: c["HostConfig"]["RestartPolicy"]["Name"] in {"no", ""},
    "5.16 the host's processes are not shared": lambda c: c["HostConfig"]["PidMode"] == "",
    "5.17 the host's IPC is not shared": lambda c: c["HostConfig"]["IpcMode"] == "none",
    "5.18 no device is exposed": lambda c: not c["HostConfig"]["Devices"] and not c["HostConfig"]["DeviceRequests"],
    "5.19 ulimits are set": lambda c: {each["Name"] for each in c["HostConfig"]["Ulimits"]} >= {"core"},
    "5.20 no mount is propagated": lambda c: {mount["Propagation"] for mount in c["Mounts"]} <= {"", "rprivate"},
    "5.21 the host's name is not shared": lambda c: c["HostConfig"]["UTSMode"] == "",
    "5.22 seccomp is on": lambda c: any(
        option.startswith("seccomp=") and "unconfined" not in option for option in c["HostConfig"]["SecurityOpt"]
    ),
    "5.25 the daemon's own group is used": lambda c: c["HostConfig"]["CgroupParent"] == "",
    "5.26 no privileges can be gained": lambda c: "no-new-privileges" in c["HostConfig"]["SecurityOpt"],
    "5.28 the image is named by its digest": lambda c: c["Config"]["Image"].startswith("sha256:"),
    "5.29 processes are limited": lambda c: (
        0 < c["HostConfig"]["PidsLimit"] <= LIMITS.pids * GVISOR_THREADS + GVISOR_OWN
    ),
    "5.30 the default bridge is not used": lambda c: set(c["NetworkSettings"]["Networks"]) <= {"none"},
    "5.31 the host's user namespace is not used": lambda c: c["HostConfig"]["UsernsMode"] == "",
    "5.32 the daemon's socket is not mounted": lambda c: "docker.sock" not in str(c["Mounts"]),
}

NOT_OURS = {
    "5.1": "swarm mode is the daemon's own configuration",
    "5.14": "no port is mapped, so there is no interface to bind it to",
    "5.23": "nothing is ever run by docker exec",
    "5.24": "nothing is ever run by docker exec",
    "5.27": "a container runs only for one call, whose stream shows that its guest works",
}


CALLS: dict[str, tuple[str, dict[str, str]]] = {
    "no workspace": ("docker", {}),
    "a workspace": ("docker", {"workspace": "rw"}),
    "a workspace to read": ("docker", {"workspace": "ro"}),
    "a transaction": ("docker", {"workspace": "transaction"}),
    "gVisor": ("docker+gvisor", {"min_isolation": "gvisor", "workspace": "rw"}),
}
"""Calls with different containers: the configuration, and the ``sandbox`` of the tool."""

WAITS = """
import time
def run(ctx):
    ctx.progress(0, "begun")
    time.sleep(60)
"""


@pytest.fixture(scope="module", params=CALLS)
def container(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Container]:
    """Yield the daemon's description of the container of a running call."""
    configuration, sandbox = CALLS[request.param]
    engine = configured(configuration)
    assert isinstance(engine, DockerEngine)
    folder = tmp_path_factory.mktemp("workspace")
    yield _inspected(engine, sandbox, folder)
    engine.close()


def _inspected(engine: DockerEngine, sandbox: dict[str, str], folder: Path) -> Container:
    case = Case("wait", python(WAITS), {}, sandbox=sandbox)
    (folder / "specs").mkdir()
    (folder / "specs" / "wait.yaml").write_text(case.spec({}), encoding="utf-8")
    workspace = folder / "workspace"
    workspace.mkdir()
    found: list[Container] = []
    client, owner = engine._connect().client, Owner.current().label()
    with (
        Cancellation() as cancellation,
        Executor(Registry.load(folder / "specs"), workspace=workspace, engine=engine) as executor,
    ):

        def look(event: Event) -> None:
            if isinstance(event, ToolUpdate):
                filters = quote(json.dumps({"label": [f"{OWNER_LABEL}={owner}"]}))
                listed: Any = client.call("GET", f"/containers/json?filters={filters}", timeout=60)
                names = [each["Id"] for each in listed if each["State"] == "running"]
                found.extend(client.call("GET", f"/containers/{name}/json", timeout=60) for name in names)  # type: ignore[misc]
                cancellation.cancel()

        executor.run("wait", {}, on_event=look, cancellation=cancellation)
    (only,) = found
    return only


@pytest.mark.parametrize("item", CHECKS)
def test_container_passes(container: Container, item: str) -> None:
    assert CHECKS[item](container), container["HostConfig"]


def test_every_item_is_checked_or_excluded() -> None:
    numbers = {item.partition(" ")[0] for item in CHECKS} | set(NOT_OURS)
    assert numbers == {f"5.{number}" for number in range(1, 33)}
