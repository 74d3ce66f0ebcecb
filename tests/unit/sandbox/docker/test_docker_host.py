"""Finding the socket: the user's choice, else the first default one."""

import hashlib
import json
import socket
from pathlib import Path

import pytest

from toolc.sandbox.docker import api_client
from toolc.sandbox.docker.api_client import NoDaemonError, find_socket


def context(home: Path, name: str, host: str) -> None:
    folder = home / ".docker/contexts/meta" / hashlib.sha256(name.encode()).hexdigest()
    folder.mkdir(parents=True)
    (folder / "meta.json").write_text(json.dumps({"Name": name, "Endpoints": {"docker": {"Host": host}}}))


def test_docker_host_comes_first(tmp_path: Path) -> None:
    environment = {"DOCKER_HOST": "unix:///run/mine.sock", "DOCKER_CONTEXT": "other", "HOME": str(tmp_path)}
    assert find_socket(environment) == "/run/mine.sock"


@pytest.mark.parametrize("host", ["tcp://10.0.0.1:2376", "ssh://me@host", "npipe:////./pipe/docker_engine", "x"])
def test_a_remote_daemon_is_refused(host: str) -> None:
    with pytest.raises(NoDaemonError) as caught:
        find_socket({"DOCKER_HOST": host})
    assert str(caught.value) == (
        f"DOCKER_HOST is {host!r}, but toolc can use Docker only over a Unix socket: tcp, ssh and TLS are not "
        "supported yet. Set DOCKER_HOST=unix:///var/run/docker.sock to use the daemon of this machine."
    )


def test_the_current_context_is_used(tmp_path: Path) -> None:
    context(tmp_path, "rootless", "unix:///run/user/1000/docker.sock")
    (tmp_path / ".docker/config.json").write_text('{"currentContext": "rootless"}')
    assert find_socket({"HOME": str(tmp_path)}) == "/run/user/1000/docker.sock"


def test_docker_context_and_docker_config_are_respected(tmp_path: Path) -> None:
    context(tmp_path, "far", "ssh://me@far")
    with pytest.raises(NoDaemonError, match="the Docker context 'far' is 'ssh://me@far'"):
        find_socket({"DOCKER_CONTEXT": "far", "DOCKER_CONFIG": str(tmp_path / ".docker")})


def test_a_missing_context_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(NoDaemonError, match="the Docker context 'gone' cannot be read"):
        find_socket({"DOCKER_CONTEXT": "gone", "HOME": str(tmp_path)})


@pytest.mark.parametrize("text", ["", "[]", "{", '{"currentContext": 3}', '{"currentContext": "default"}'])
def test_without_a_context_the_default_sockets_are_used(
    tmp_path: Path, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".docker").mkdir()
    (tmp_path / ".docker/config.json").write_text(text)
    place = tmp_path / "docker.sock"
    monkeypatch.setattr(api_client, "_default_sockets", lambda *_: [tmp_path / "none", tmp_path / ".docker", place])
    with pytest.raises(NoDaemonError, match=r"no Docker daemon was found on this host\. Install Docker"):
        find_socket({"HOME": str(tmp_path)})
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(place))
        assert find_socket({"HOME": str(tmp_path)}) == str(place)


def test_default_sockets_have_a_fixed_order(tmp_path: Path) -> None:
    places = api_client._default_sockets({"XDG_RUNTIME_DIR": "/run/user/7"}, Path("/home/ada"))
    assert [str(place) for place in places] == [
        "/var/run/docker.sock", "/run/user/7/docker.sock", "/home/ada/.docker/run/docker.sock",
        "/run/user/7/podman/podman.sock", "/run/podman/podman.sock",
    ]  # fmt: skip
