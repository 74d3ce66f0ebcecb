"""A container that cannot be removed: what is released nevertheless."""

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from toolc.model.errors import InfrastructureError
from toolc.sandbox.docker import docker_sandbox
from toolc.sandbox.docker.api_client import Client
from toolc.sandbox.docker.container import ContainerWatcher
from toolc.sandbox.docker.docker_sandbox import DockerSandbox
from toolc.sandbox.docker.streams import AttachedStream
from toolc.sandbox.host.start_folder import StartFolder
from toolc.sandbox.interface import ImageUsed


class NoEvents:
    """The events of a daemon that was killed."""

    is_alive = False

    def watch(self, _: str) -> ContainerWatcher:
        return ContainerWatcher()

    def unwatch(self, _: str) -> None:
        pass


@pytest.fixture
def sandbox(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[DockerSandbox]:
    monkeypatch.setattr(docker_sandbox, "_GRACE", 0.01)
    folder = StartFolder(tmp_path / "start")
    folder.link("/")
    ours, theirs = socket.socketpair()
    attached = AttachedStream(ours)
    with theirs:
        yield DockerSandbox(
            container="c" * 64, user="0:0", image=ImageUsed("x", "sha256:0"), created=0.0, guarded=True,
            kernel_kills=None, client=Client(str(tmp_path / "gone.sock")), attached=attached, stream=attached,
            events=NoEvents(), remove_later=lambda _: None,  # type: ignore[arg-type]
            folder=folder,
        )  # fmt: skip


def test_its_links_are_removed_if_the_daemon_is_gone(sandbox: DockerSandbox, tmp_path: Path) -> None:
    with pytest.raises(InfrastructureError, match=r"did not remove the sandbox cccccccccccc"):
        sandbox.close()
    assert not [*tmp_path.iterdir()]


def test_its_stream_stays_open_for_its_owner_after_stop(
    sandbox: DockerSandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    sandbox.stop()
    assert sandbox.read() is None, "only its owner reports that the daemon has stopped"
    monkeypatch.setattr(NoEvents, "is_alive", True)
    with pytest.raises(InfrastructureError, match=r"did not remove the sandbox cccccccccccc"):
        sandbox.stop()
    assert sandbox.fileno() >= 0
    assert sandbox.read() == b""
    with pytest.raises(InfrastructureError, match=r"did not remove the sandbox cccccccccccc"):
        sandbox.close()
    assert sandbox.fileno() == -1
