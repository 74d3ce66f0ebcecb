"""Podman with the docker engine: the same filter and tmpfs mounts, in the form that it accepts."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from toolc.model.plan import Profile
from toolc.sandbox import seccomp
from toolc.sandbox.docker import daemon
from toolc.sandbox.docker.api_client import Client
from toolc.sandbox.docker.container_config import LocalImage, create_config, unsupported_reason
from toolc.sandbox.docker.daemon import Daemon, podman_tmpfs_options, seccomp_file

DAEMON = Daemon(client=Client("/run/podman/podman.sock"), cpus=2, architecture="x86_64", podman=True)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(daemon, "shared_directory", lambda: tmp_path)
    return tmp_path


def host_config() -> Any:
    return create_config(Profile(), [], daemon=DAEMON, image=LocalImage("x", ()), owner="me")["HostConfig"]


def test_the_filter_file_is_written_once(folder: Path) -> None:
    host = host_config()
    (path,) = folder.iterdir()
    assert host["SecurityOpt"] == ["no-new-privileges", f"seccomp={path}"]
    assert json.loads(path.read_text(encoding="utf-8")) == seccomp.profile("x86_64")
    before = path.stat().st_mtime_ns
    assert seccomp_file(path.read_text(encoding="utf-8")) == path
    assert path.stat().st_mtime_ns == before


def test_each_filter_has_a_file() -> None:
    assert seccomp_file("{}") != seccomp_file('{"syscalls": []}')


def test_unknown_tmpfs_options_are_omitted() -> None:
    assert podman_tmpfs_options("rw,nosuid,mode=1777,uid=1,gid=2,exec,size=8,nr_inodes=9") == (
        "rw,nosuid,mode=1777,exec,size=8"
    )
    assert host_config()["Tmpfs"]["/tmp"] == "rw,nosuid,nodev,mode=1777,exec,size=67108864"


def test_podman_offers_no_other_isolation() -> None:
    assert unsupported_reason(Profile(min_isolation="gvisor"), DAEMON) == (
        "the tool demands min_isolation: gvisor, and Podman starts every container with its default runtime, which "
        "does not provide it; set runtime in containers.conf to one that does, or use Docker"
    )
    assert unsupported_reason(Profile(), replace(DAEMON, rootless=True)) is None
