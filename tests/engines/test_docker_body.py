"""A profile in the daemon's words: who the tool is, what is refused, and the body to the last key."""

from __future__ import annotations

import json
import os
from dataclasses import replace

import pytest

from toolc.engines import docker_body, oci_seccomp
from toolc.engines.docker_body import LocalImage, User, create_body, refusal, user_of
from toolc.engines.docker_daemon import Daemon
from toolc.engines.docker_http import Client
from toolc.engines.oci_config import MASKED_PATHS, READONLY_PATHS
from toolc.plan import Mount, Profile
from toolc.spec import MIB, Limits

DAEMON = Daemon(client=Client("/run/docker.sock", "/v1.41"), cpus=2, architecture="x86_64")
ROOTLESS = replace(DAEMON, rootless=True)


def mount(owner: int, group: int) -> Mount:
    return Mount(source="/work", mode="rw", owner=owner, group=group)


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
def test_who_the_tool_is(workspace: Mount | None, daemon: Daemon, user: User) -> None:
    assert user_of(Profile(workspace=workspace), daemon) == user


@pytest.mark.parametrize(
    ("profile", "daemon", "reason"),
    [
        (Profile(), DAEMON, None),
        (Profile(workspace=mount(1000, 100), nonroot=True), DAEMON, None),
        (Profile(workspace=mount(0, 0)), DAEMON, None),
        (
            Profile(workspace=mount(0, 0), nonroot=True),
            DAEMON,
            "/work belongs to root, so the tool would run as root",
        ),
        (Profile(workspace=mount(os.geteuid(), 0), nonroot=True), ROOTLESS, None),
        (Profile(workspace=mount(4321, 0)), ROOTLESS, "/work belongs to user 4321, and a rootless Docker daemon"),
        (
            Profile(workspace=mount(1000, 0)),
            replace(DAEMON, remaps_users=True),
            "this Docker daemon maps every user",
        ),
        (Profile(min_isolation="gvisor"), DAEMON, "the docker engine has no isolation of kind 'gvisor'"),
        (Profile(min_isolation="vm"), DAEMON, "the docker engine has no isolation of kind 'vm'"),
        (Profile(), replace(DAEMON, has_seccomp=False), "this Docker daemon filters no system calls"),
        (Profile(), replace(DAEMON, limits_memory=False), "this Docker daemon cannot limit memory; enable"),
        (Profile(), replace(DAEMON, limits_cpu=False, limits_pids=False), "cannot limit cpu and pids; enable"),
        (Profile(limits=Limits(memory_bytes=6 * MIB - 1)), DAEMON, "Docker limits memory to no less than 6MiB"),
        (Profile(limits=Limits(memory_bytes=6 * MIB)), DAEMON, None),
    ],
)
def test_what_cannot_be_kept_is_refused(profile: Profile, daemon: Daemon, reason: str | None) -> None:
    found = refusal(profile, daemon)
    assert found is None if reason is None else found is not None and reason in found


@pytest.mark.parametrize("swaps", [True, False])
def test_swap_matters_only_where_there_is_any(monkeypatch: pytest.MonkeyPatch, swaps: bool) -> None:
    monkeypatch.setattr(docker_body, "_host_swaps", lambda: swaps)
    assert (refusal(Profile(), replace(DAEMON, limits_swap=False)) is not None) == swaps


def test_the_body_to_the_last_key() -> None:
    profile = Profile(
        workspace=Mount(source="/home/ada/a, b", mode="ro", owner=1000, group=100),
        limits=Limits(memory_bytes=64 * MIB, cpus=1.5, pids=32, tmp_bytes=8 * MIB),
    )
    image = LocalImage("sha256:abc", ("/data", "/workspace"))
    assert create_body(profile, ["-I", "-c", "pass"], daemon=DAEMON, image=image, owner="me") == {
        "Image": "sha256:abc",
        "Entrypoint": ["python3"],
        "Cmd": ["-I", "-c", "pass"],
        "WorkingDir": "/",
        "Hostname": "sandbox",
        "User": "1000:100",
        "Labels": {"toolc.owner": "me"},
        "OpenStdin": True,
        "StdinOnce": True,
        "AttachStdin": True,
        "AttachStdout": True,
        "AttachStderr": True,
        "Tty": False,
        "Healthcheck": {"Test": ["NONE"]},
        "HostConfig": {
            "AutoRemove": True,
            "CapDrop": ["ALL"],
            "SecurityOpt": ["no-new-privileges", "seccomp=" + json.dumps(oci_seccomp.profile("x86_64"))],
            "NetworkMode": "none",
            "IpcMode": "none",
            "ReadonlyRootfs": True,
            "MaskedPaths": [*MASKED_PATHS, "/sys/firmware", "/sys/devices/virtual/powercap"],
            "ReadonlyPaths": [*READONLY_PATHS],
            "LogConfig": {"Type": "none"},
            "RestartPolicy": {"Name": "no"},
            "Memory": 64 * MIB,
            "MemorySwap": 64 * MIB,
            "NanoCpus": 1_500_000_000,
            "PidsLimit": 32,
            "Ulimits": [{"Name": "core", "Soft": 1, "Hard": 1}],
            "Tmpfs": {
                "/data": "rw,nosuid,nodev,mode=1777,uid=1000,gid=100,noexec,size=16777216",
                "/tmp": "rw,nosuid,nodev,mode=1777,uid=1000,gid=100,exec,size=8388608",
                "/tool": "rw,nosuid,nodev,mode=1777,uid=1000,gid=100,exec,size=16777216",
                "/dev/shm": "rw,nosuid,nodev,mode=1777,uid=1000,gid=100,noexec,size=16777216",
            },
            "Mounts": [
                {
                    "Type": "bind",
                    "Source": "/home/ada/a, b",
                    "Target": "/workspace",
                    "ReadOnly": True,
                    "BindOptions": {"Propagation": "rprivate", "NonRecursive": True},
                }
            ],
        },
    }


@pytest.mark.parametrize("daemon", [replace(DAEMON, takes_seccomp=False), replace(DAEMON, architecture="s390x")])
def test_the_daemons_own_filter_stays_where_it_takes_none(daemon: Daemon) -> None:
    body = create_body(Profile(), [], daemon=daemon, image=LocalImage("x", ()), owner="me")
    assert isinstance(body["HostConfig"], dict)
    assert body["HostConfig"]["SecurityOpt"] == ["no-new-privileges"]
