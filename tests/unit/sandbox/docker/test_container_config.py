"""The configuration of a container: the user, refused profiles, and the whole request."""

import json
import os
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from toolc.model.json_schema import JsonObject, JsonValue
from toolc.model.plan import LoopbackProxy, Mount, Profile
from toolc.model.spec.sandbox import MIB, Limits
from toolc.sandbox import seccomp
from toolc.sandbox.common_config import MASKED_PATHS, READONLY_PATHS
from toolc.sandbox.docker import container_config
from toolc.sandbox.docker.api_client import Client
from toolc.sandbox.docker.container_config import (
    LocalImage,
    User,
    can_mount_later,
    create_config,
    unsupported_reason,
    user_of,
)
from toolc.sandbox.docker.daemon import Daemon, Runtime
from toolc.sandbox.host.owner import Owner
from toolc.sandbox.host.start_folder import StartFolder

DAEMON = Daemon(client=Client("/run/docker.sock", "/v1.41"), cpus=2, architecture="x86_64")
ROOTLESS = replace(DAEMON, rootless=True)
WITH_GVISOR = replace(DAEMON, runtimes=(Runtime("runc"), Runtime("runsc", "gvisor")), kernel="6.1.0")
WITH_KATA = replace(DAEMON, runtimes=(Runtime("runc"), Runtime("kata", "vm")), kernel="6.1.0")


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Owner, "directory", lambda _: tmp_path)


IMAGE = LocalImage("x", ())


def body_of(profile: Profile, daemon: Daemon = DAEMON, image: LocalImage = IMAGE, *, has_files: bool = False) -> Any:
    return create_config(profile, [], daemon=daemon, image=image, owner="me", folder=StartFolder(), has_files=has_files)


def registered(definition: str) -> Daemon:
    return replace(DAEMON, runtimes=(Runtime("runc"), Runtime("runsc", "gvisor", definition)), kernel="6.1.0")


def mount(owner: int, group: int) -> Mount:
    return Mount(source="/work", mode="rw", owner=owner, group=group)


RUNSC = "path=/usr/bin/runsc runtimeArgs=['--network=none'"
IN_GVISOR = Profile(min_isolation="gvisor", workspace=mount(1000, 0))


@pytest.mark.parametrize(
    ("workspace", "daemon", "user"),
    [
        (None, DAEMON, User("65534:65534", "65534:65534")),
        (mount(1000, 100), DAEMON, User("1000:100", "1000:100")),
        (mount(1000, 0), DAEMON, User("1000:1000", "1000:1000")),
        (mount(0, 0), DAEMON, User("0:0", "0:0 (no capabilities)")),
        (mount(0, 50), DAEMON, User("0:0", "0:0 (no capabilities)")),
        (None, ROOTLESS, User("65534:65534", "65534:65534")),
        (mount(1000, 100), ROOTLESS, User("0:0", "0:0 (no capabilities)")),
    ],
)
def test_a_tool_has_the_expected_user(workspace: Mount | None, daemon: Daemon, user: User) -> None:
    assert user_of(Profile(workspace=workspace), daemon) == user


@pytest.mark.parametrize(
    ("profile", "daemon", "reason"),
    [
        (Profile(), DAEMON, None),
        (Profile(workspace=mount(1000, 100), nonroot=True), DAEMON, None),
        (Profile(workspace=mount(0, 0)), DAEMON, None),
        (Profile(workspace=mount(0, 0), nonroot=True), DAEMON, "/work belongs to root, so the tool would run as root"),
        (Profile(workspace=mount(os.geteuid(), 0), nonroot=True), ROOTLESS, None),
        (Profile(workspace=mount(4321, 0)), ROOTLESS, "/work belongs to user 4321, but a rootless Docker daemon"),
        (Profile(workspace=mount(1000, 0)), replace(DAEMON, remaps_users=True), "this Docker daemon maps every user"),
        (Profile(min_isolation="gvisor"), DAEMON, "the tool requires min_isolation: gvisor, but this"),
        (Profile(min_isolation="gvisor"), WITH_GVISOR, None),
        (IN_GVISOR, registered(f"{RUNSC}]"), 'add "--oci-seccomp" to its runtimeArgs'),
        (IN_GVISOR, registered(f"{RUNSC}, '--oci-seccomp']"), None),
        (replace(IN_GVISOR, workspace=replace(mount(1000, 0), mode="ro")), registered(f"{RUNSC}]"), None),
        (IN_GVISOR, registered("runtimeType=io.containerd.runsc.v1"), None),
        (Profile(min_isolation="vm"), WITH_GVISOR, "the tool requires min_isolation: vm, but this"),
        (Profile(min_isolation="vm"), WITH_KATA, None),
        (Profile(), replace(DAEMON, has_seccomp=False), "this Docker daemon does not filter system calls"),
        (Profile(), replace(DAEMON, limits_memory=False), "it cannot enforce limits.memory here"),
        (Profile(), replace(DAEMON, limits_cpu=False, limits_pids=False), "limits.cpus and limits.pids here"),
        (Profile(accept_unenforced=("memory",)), replace(DAEMON, limits_memory=False), None),
        (Profile(accept_unenforced=("memory",)), replace(DAEMON, limits_cpu=False), "cannot enforce limits.cpus"),
        (Profile(limits=Limits(memory_bytes=6 * MIB - 1)), DAEMON, "Docker cannot limit memory to less than 6MiB"),
        (Profile(limits=Limits(memory_bytes=6 * MIB)), DAEMON, None),
    ],
)
def test_unsupported_profiles_are_refused(profile: Profile, daemon: Daemon, reason: str | None) -> None:
    found = unsupported_reason(profile, daemon)
    assert found is None if reason is None else found is not None and reason in found


def test_the_configuration_is_complete() -> None:
    profile = Profile(
        workspace=Mount(source="/home/ada/a, b", mode="ro", owner=1000, group=100),
        limits=Limits(memory_bytes=64 * MIB, cpus=1.5, pids=32, tmp_bytes=8 * MIB),
    )
    image = LocalImage("sha256:abc", ("/data", "/workspace"), binds=(("/site", "/opt/toolc/site"),))
    tmpfs = "rw,nosuid,nodev,mode=1777,uid=1000,gid=100"
    arguments = ["-I", "-c", "pass"]
    assert create_config(profile, arguments, daemon=DAEMON, image=image, owner="me", folder=StartFolder()) == {
        "Image": "sha256:abc", "Entrypoint": ["python3"], "Cmd": ["-I", "-c", "pass"], "WorkingDir": "/",
        "Hostname": "sandbox", "User": "1000:100", "Labels": {"toolc.owner": "me"},
        "OpenStdin": True, "StdinOnce": True, "AttachStdin": True, "AttachStdout": True, "AttachStderr": True,
        "Tty": False, "Healthcheck": {"Test": ["NONE"]},
        "HostConfig": {
            "AutoRemove": True,
            "CapDrop": ["ALL"],
            "SecurityOpt": ["no-new-privileges", "seccomp=" + json.dumps(seccomp.profile("x86_64"))],
            "NetworkMode": "none", "Dns": ["127.0.0.1"], "DnsSearch": ["."], "DnsOptions": ["ndots:1"],
            "ExtraHosts": ["sandbox:127.0.0.1"],
            "IpcMode": "none",
            "ReadonlyRootfs": True,
            "MaskedPaths": [
                *MASKED_PATHS, "/dev/mqueue", "/sys/firmware", "/sys/devices/virtual/powercap", "/sys/kernel",
            ],
            "ReadonlyPaths": [*READONLY_PATHS, "/sys/fs/cgroup"],
            "LogConfig": {"Type": "none"},
            "RestartPolicy": {"Name": "no"},
            "Memory": 64 * MIB, "MemorySwap": 64 * MIB, "NanoCpus": 1_500_000_000, "PidsLimit": 32,
            "Ulimits": [{"Name": "core", "Soft": 1, "Hard": 1}],
            "Tmpfs": {
                "/data": f"{tmpfs},noexec,size=16777216,nr_inodes=4096",
                "/tmp": f"{tmpfs},exec,size=8388608,nr_inodes=2048",
                "/tool": f"{tmpfs},exec,size=16777216,nr_inodes=4096",
                "/dev/shm": f"{tmpfs},noexec,size=16777216,nr_inodes=4096",
            },
            "Mounts": [{
                "Type": "bind", "Source": source, "Target": target, "ReadOnly": True,
                "BindOptions": {"Propagation": "rprivate", "NonRecursive": True},
            } for source, target in (("/home/ada/a, b", "/workspace"), ("/site", "/opt/toolc/site"))],
        },
    }  # fmt: skip


def test_gvisor_has_its_own_filter_and_unknown_architectures_keep_the_daemons() -> None:
    gvisors = ["seccomp=" + json.dumps(seccomp.gvisor_profile("x86_64"))]
    unknown = replace(DAEMON, architecture="s390x")
    for profile, daemon, filters in ((IN_GVISOR, WITH_GVISOR, gvisors), (Profile(), unknown, [])):
        assert body_of(profile, daemon)["HostConfig"]["SecurityOpt"] == ["no-new-privileges", *filters]


def test_process_1_is_protected_in_gvisor_only_by_toolcs_filter() -> None:
    filters = registered(f"{RUNSC}, '--oci-seccomp']")
    daemons = (filters, registered(f"{RUNSC}]"), replace(filters, architecture="s390x"))
    assert [container_config.guards_process_1(IN_GVISOR, each) for each in daemons] == [True, False, False]


def options_of(volume: Any) -> str:
    assert volume["VolumeOptions"]["Labels"] == {"toolc.owner": "me"}
    return str(volume["VolumeOptions"]["DriverConfig"]["Options"]["o"])


def test_the_options_of_an_overlay_name_only_links(tmp_path: Path) -> None:
    folder = StartFolder(tmp_path / "start")
    workspace = replace(mount(1000, 0), mode="overlay", pinned="/proc/1/fd/7", scratch="/state/1.2.3/1")
    options = options_of(container_config.overlay_volume(workspace, folder, "me"))
    scratch, lower = folder.path / "1", folder.path / "2"
    assert options == (f"nosuid,nodev,lowerdir={lower},upperdir={scratch}/upper,workdir={scratch}/work,userxattr")
    assert [str(each.readlink()) for each in (scratch, lower)] == ["/state/1.2.3/1", "/proc/1/fd/7"]


LOCAL_DOCKER = replace(DAEMON, kernel=os.uname().release)


def test_packages_are_mounted_and_marked_as_in_use() -> None:
    image, folder = LocalImage("x", (), binds=(("/store/site", "/opt/toolc/site"),)), StartFolder()
    body: Any = create_config(Profile(), [], daemon=DAEMON, image=image, owner="me", folder=folder)
    (packages,) = body["HostConfig"]["Mounts"]
    assert (packages["Type"], packages["Source"], packages["ReadOnly"]) == ("bind", "/store/site", True)
    assert [str(each.readlink()) for each in folder.path.iterdir()] == ["/store/site"]


def test_with_toolcs_files_the_daemon_makes_no_network() -> None:
    profile = Profile(loopback=LoopbackProxy(hosts=(("127.0.0.2", "example.com"),)))
    body = body_of(profile, LOCAL_DOCKER, has_files=True)
    host = body["HostConfig"]
    assert (body["NetworkDisabled"], host["NetworkMode"], host.keys() & {"Dns", "ExtraHosts"}) == (True, "none", set())
    hosts, resolver = host["Mounts"]
    assert (hosts["Target"], hosts["ReadOnly"], resolver["Target"]) == ("/etc/hosts", True, "/etc/resolv.conf")
    assert Path(hosts["Source"]).read_text() == "127.0.0.1 localhost sandbox\n::1 localhost\n127.0.0.2 example.com\n"
    assert Path(resolver["Source"]).read_text() == ""


def test_without_them_the_daemon_makes_a_network_without_interfaces() -> None:
    body = body_of(Profile(), LOCAL_DOCKER)
    host = body["HostConfig"]
    assert (body.get("NetworkDisabled"), host["NetworkMode"], host["Mounts"]) == (None, "none", [])
    assert host["ExtraHosts"] == ["sandbox:127.0.0.1"]


def test_a_workspace_is_mounted_later_only_by_root_on_the_same_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    here = replace(DAEMON, kernel=os.uname().release)
    workspace = mount(0, 0)
    profile = Profile(workspace=workspace)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert can_mount_later(profile, here)
    with_gvisor = replace(here, runtimes=(Runtime("runc"), Runtime("runsc", "gvisor")))
    assert can_mount_later(profile, with_gvisor)
    assert not can_mount_later(replace(profile, min_isolation="gvisor"), with_gvisor)
    others = (
        replace(here, podman=True),
        replace(here, rootless=True),
        replace(here, remaps_users=True),
        replace(here, has_selinux=True),
        replace(here, kernel="6.1.0-in-a-virtual-machine"),
    )
    assert [each for each in others if can_mount_later(profile, each)] == []
    assert not can_mount_later(Profile(), here)
    read_only = Profile(workspace=replace(workspace, mode="ro"))
    for flags, expected in ((0, True), (os.ST_RDONLY, True), (os.ST_NOSUID, False), (os.ST_NODEV, False)):
        monkeypatch.setattr(os, "statvfs", lambda _, flags=flags: SimpleNamespace(f_flag=flags))
        assert can_mount_later(profile, here)
        assert can_mount_later(read_only, here) is expected
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert not can_mount_later(profile, here)


def test_a_workspace_that_is_mounted_later_has_an_empty_folder_in_its_place() -> None:
    later = Profile(workspace=mount(1000, 1000).without_source())
    user = User("1000:1000", "1000:1000")
    assert user_of(later, DAEMON) == user
    host = body_of(later, image=LocalImage("sha256:1", ("/workspace", "/data")))["HostConfig"]
    assert host["Tmpfs"]["/workspace"] == "ro,nosuid,nodev,noexec,size=4096"
    assert host["Mounts"] == []


def limits_of(profile: Profile, daemon: Daemon) -> tuple[JsonValue, JsonObject]:
    """Return the further arguments of process 1, and the limits."""
    body = body_of(profile, daemon)
    host = body["HostConfig"]
    limits = ("Memory", "MemorySwap", "NanoCpus", "PidsLimit", "Runtime")
    return body["Cmd"], {name: host[name] for name in limits if name in host}


def test_gvisor_limits_processes_and_the_host_its_threads() -> None:
    profile = Profile(min_isolation="gvisor", limits=Limits(pids=10, memory_bytes=64 * MIB))
    memory = {"Memory": (64 + 32) * MIB, "MemorySwap": (64 + 32) * MIB}
    limits = {**memory, "NanoCpus": 1_000_000_000, "PidsLimit": 10 * 16 + 1024, "Runtime": "runsc"}
    assert limits_of(profile, WITH_GVISOR) == (["pids=10", "not-kernel=6.1.0"], limits)


def test_limits_of_a_virtual_machine() -> None:
    arguments, limits = limits_of(Profile(min_isolation="vm"), WITH_KATA)
    assert arguments == ["not-kernel=6.1.0"]
    assert (limits["Runtime"], limits["PidsLimit"]) == ("kata", 128)


def test_gvisor_as_the_default_runtime_is_not_named() -> None:
    daemon = replace(WITH_GVISOR, runtimes=WITH_GVISOR.runtimes[::-1])
    arguments, limits = limits_of(Profile(), daemon)
    assert arguments == ["pids=128", "not-kernel=6.1.0"]
    assert "Runtime" not in limits


def test_accepted_limits_are_passed_to_the_guest() -> None:
    daemon = replace(DAEMON, limits_memory=False, limits_swap=False, limits_cpu=False, limits_pids=False)
    profile = Profile(limits=Limits(memory_bytes=64 * MIB, pids=9), accept_unenforced=("memory", "cpus", "pids"))
    assert unsupported_reason(profile, daemon) is None
    assert limits_of(profile, daemon) == (["memory=67108864", "pids=9"], {})
