"""Recorded descriptions of daemons, and daemons that cannot be used."""

import json
import socket
import threading
from pathlib import Path

import pytest

from toolc.model.json_schema import JsonObject, JsonValue
from toolc.sandbox.docker.api_client import Client, NoDaemonError
from toolc.sandbox.docker.daemon import Daemon, Runtime, choose_version, connect, parse
from toolc.sandbox.docker.engine import DockerEngine

CLIENT = Client("/run/docker.sock", "/v1.41")

DEBIAN_12: JsonObject = {
    "MemoryLimit": True, "SwapLimit": True, "CpuCfsPeriod": True, "CpuCfsQuota": True, "PidsLimit": True, "NCPU": 2,
    "SecurityOptions": ["name=seccomp,profile=default"], "Architecture": "x86_64", "OSType": "linux",
}  # fmt: skip
ROOTLESS_28: JsonObject = {
    **DEBIAN_12, "NCPU": 8, "Architecture": "aarch64", "CpuCfsQuota": False,
    "SecurityOptions": ["name=seccomp,profile=builtin", "name=rootless", "name=cgroupns"],
}  # fmt: skip
PODMAN_4: JsonObject = {
    **DEBIAN_12, "SecurityOptions": ["name=seccomp,profile=default", "name=rootless"], "Architecture": "amd64",
    "DefaultRuntime": "crun",
    "Runtimes": {name: {"path": f"/usr/bin/{name}"} for name in ("crun", "kata-runtime", "runc", "runsc")},
}  # fmt: skip


@pytest.mark.parametrize(
    ("newest", "oldest", "chosen"),
    [
        ("1.41", "1.12", (1, 41)), ("1.40", "1.24", (1, 40)), ("1.51", "1.24", (1, 51)),
        ("1.55", "1.44", (1, 51)), ("1.99", "1.70", (1, 70)), ("1.44", "", (1, 44)),
    ],
)  # fmt: skip
def test_the_newest_common_version_is_used(newest: str, oldest: str, chosen: tuple[int, int]) -> None:
    assert choose_version(newest, oldest) == chosen


@pytest.mark.parametrize("newest", ["1.39", "1.24", "", "new"])
def test_a_daemon_that_is_too_old_is_refused(newest: str) -> None:
    with pytest.raises(NoDaemonError, match=r"but toolc needs 1\.40 \(Docker 19\.03\) or later"):
        choose_version(newest, "1.12")


def test_the_daemon_of_debian_12_is_recognized() -> None:
    assert parse(CLIENT, {"Version": "20.10.24+dfsg1"}, DEBIAN_12) == Daemon(
        client=CLIENT, version="20.10.24+dfsg1", cpus=2, architecture="x86_64"
    )


def test_selinux_of_fedora_is_detected() -> None:
    options: list[JsonValue] = ["name=seccomp,profile=builtin", "name=selinux"]
    assert parse(CLIENT, {}, DEBIAN_12 | {"SecurityOptions": options}).has_selinux
    assert not parse(CLIENT, {}, DEBIAN_12).has_selinux


def test_rootless_without_a_delegated_cpu_controller() -> None:
    assert parse(CLIENT, {"Version": "28.2.2"}, ROOTLESS_28) == Daemon(
        client=CLIENT, version="28.2.2", cpus=8, architecture="aarch64", limits_cpu=False, rootless=True
    )


def test_podman_offers_only_its_default_runtime() -> None:
    version: JsonObject = {"Version": "4.3.1", "Components": [{"Name": "Podman Engine"}, {"Name": "Conmon"}]}
    found = parse(CLIENT, version, PODMAN_4)
    assert (found.podman, found.has_seccomp, found.rootless) == (True, True, True)
    assert found.architecture == "x86_64"
    assert found.runtimes == (Runtime("crun", "namespace", "path=/usr/bin/crun"),)


def test_missing_fields_are_not_enforced() -> None:
    assert parse(CLIENT, {}, {}) == Daemon(
        client=CLIENT, version="unknown", limits_memory=False, limits_swap=False, limits_cpu=False,
        limits_pids=False, has_seccomp=False,
    )  # fmt: skip


def test_both_requests_are_sent_before_a_response_is_read(tmp_path: Path) -> None:
    path = str(tmp_path / "docker.sock")
    version, info = {"Version": "1.2.3", "ApiVersion": "1.41", "MinAPIVersion": "1.12"}, {"OSType": "linux", "ID": "d"}

    def serve(listener: socket.socket) -> None:
        first, second = (listener.accept()[0] for _ in range(2))
        for connection, path, value in ((second, b"/info", info), (first, b"/version", version)):
            with connection:
                assert path in connection.recv(1000)
                body = json.dumps(value).encode()
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body))

    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()
        server = threading.Thread(target=serve, args=(listener,))
        server.start()
        engine = DockerEngine(path)
        engine.begin_probe()
        engine.begin_probe()  # asks only once
        assert engine.probe().version == "1.2.3"
        server.join()


def test_a_probe_that_cannot_begin_fails_later(tmp_path: Path) -> None:
    engine = DockerEngine(str(tmp_path / "docker.sock"))
    engine.begin_probe()
    assert "there is no Docker daemon" in engine.probe().reason


def test_a_missing_socket_is_reported(tmp_path: Path) -> None:
    with pytest.raises(NoDaemonError, match=f"there is no Docker daemon at {tmp_path}/s. Install Docker and start it"):
        connect(f"{tmp_path}/s")


def test_a_socket_without_listener_is_reported(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(f"{tmp_path}/s")
        with pytest.raises(NoDaemonError, match=f"no Docker daemon is listening at {tmp_path}/s. Run: sudo"):
            connect(f"{tmp_path}/s")


def test_missing_permission_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_socket: socket.socket, _path: str) -> None:
        raise PermissionError(13, "Permission denied")

    class Refusing(socket.socket):
        connect = refuse  # type: ignore[assignment]

    monkeypatch.setattr(socket, "socket", Refusing)
    with pytest.raises(NoDaemonError) as caught:
        connect("/run/docker.sock")
    assert str(caught.value) == (
        "this user has no permission to use the Docker daemon at /run/docker.sock. Add yourself to its group "
        "(sudo usermod -aG docker $USER, then log in again) or set up rootless Docker "
        "(dockerd-rootless-setuptool.sh install)."
    )
