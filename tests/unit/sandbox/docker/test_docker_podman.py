"""Podman with the docker engine: the same filter and tmpfs mounts, in the form that it accepts."""

import json
import resource
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from toolc.model.plan import LoopbackProxy, Profile
from toolc.sandbox import seccomp
from toolc.sandbox.docker import daemon
from toolc.sandbox.docker.api_client import Client
from toolc.sandbox.docker.container_config import LocalImage, create_config, unsupported_reason
from toolc.sandbox.docker.daemon import Daemon, podman_tmpfs_options, shared_file
from toolc.sandbox.host.owner import Owner
from toolc.sandbox.host.start_folder import StartFolder

DAEMON = Daemon(client=Client("/run/podman/podman.sock"), cpus=2, architecture="x86_64", podman=True)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(daemon, "shared_directory", lambda: tmp_path)
    monkeypatch.setattr(Owner, "directory", lambda _: tmp_path)
    return tmp_path


def host_config(profile: Profile = Profile(), daemon: Daemon = DAEMON) -> Any:  # noqa: B008  it is frozen
    image = LocalImage("x", ())
    return create_config(profile, [], daemon=daemon, image=image, owner="me", folder=StartFolder())["HostConfig"]


def test_the_filter_file_is_written_once(folder: Path) -> None:
    path = folder / host_config()["SecurityOpt"][1].removeprefix(f"seccomp={folder}/")
    assert json.loads(path.read_text(encoding="utf-8")) == seccomp.profile("x86_64")
    before = path.stat().st_mtime_ns
    assert shared_file("seccomp", path.read_text(encoding="utf-8")) == path
    assert path.stat().st_mtime_ns == before


def test_a_file_that_several_threads_write_is_complete(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = Path.write_text

    def interrupted_write(path: Path, text: str, **options: Any) -> int:
        monkeypatch.setattr(Path, "write_text", write)
        size = write(path, text, **options)
        # What another thread does in between.
        assert shared_file("seccomp", text).read_text(encoding="utf-8") == text
        return size

    monkeypatch.setattr(Path, "write_text", interrupted_write)
    path = shared_file("seccomp", "{}")
    assert path.read_text(encoding="utf-8") == "{}"
    assert [*folder.iterdir()] == [path]


def test_each_filter_has_a_file() -> None:
    assert shared_file("seccomp", "{}") != shared_file("seccomp", '{"syscalls": []}')


def test_paths_are_masked_by_an_option_because_podman_ignores_the_field() -> None:
    (masks,) = (each for each in host_config()["SecurityOpt"] if each.startswith("mask="))
    assert {"/proc/interrupts", "/proc/config.gz", "/sys/kernel"} <= {*masks.removeprefix("mask=").split(":")}
    assert masks.removeprefix("mask=").split(":") == host_config()["MaskedPaths"]


def test_names_of_the_host_are_replaced(folder: Path) -> None:
    """Podman copies the host's resolver and hosts(5) into a container, even into one without a network."""
    profile = Profile(loopback=LoopbackProxy(hosts=(("127.0.1.1", "api.example.com"),)))
    host = host_config(profile)
    assert isinstance(host, dict)
    assert "ExtraHosts" not in host
    mounts: Any = host["Mounts"]
    texts = {each["Target"]: Path(each["Source"]).read_text(encoding="utf-8") for each in mounts}
    assert texts == {
        "/etc/hostname": "sandbox\n",
        "/etc/hosts": "127.0.0.1 localhost sandbox\n::1 localhost\n127.0.1.1 api.example.com\n",
        "/etc/resolv.conf": "",
    }
    assert all(each["ReadOnly"] and Path(each["Source"]).parent.parent == folder for each in mounts)


def test_folders_that_podman_makes_writable_are_read_only() -> None:
    tmpfs = host_config()["Tmpfs"]
    assert tmpfs["/run"] == tmpfs["/var/tmp"] == "ro,nosuid,nodev,noexec,size=4k"


@pytest.mark.parametrize(("rootless", "names"), [(False, ["core", "nofile", "nproc"]), (True, ["core"])])
def test_podman_of_root_gets_limits_that_it_may_set(*, rootless: bool, names: list[str]) -> None:
    daemon = replace(DAEMON, rootless=rootless)
    host = host_config(daemon=daemon)
    limits = {each["Name"]: each["Hard"] for each in host["Ulimits"]}
    assert [*limits] == names
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    assert rootless or 0 < limits["nofile"] <= (hard if hard > 0 else limits["nofile"])


def test_unknown_tmpfs_options_are_omitted() -> None:
    assert podman_tmpfs_options("rw,nosuid,mode=1777,uid=1,gid=2,exec,size=8,nr_inodes=9") == (
        "rw,nosuid,mode=1777,exec,size=8"
    )
    assert host_config()["Tmpfs"]["/tmp"] == "rw,nosuid,nodev,mode=1777,exec,size=67108864"


def test_podman_offers_no_other_isolation() -> None:
    assert unsupported_reason(Profile(min_isolation="gvisor"), DAEMON) == (
        "the tool requires min_isolation: gvisor, but Podman starts every container with its default runtime, which "
        "does not provide it; set runtime in containers.conf to one that does, or use Docker"
    )
    assert unsupported_reason(Profile(), replace(DAEMON, rootless=True)) is None
