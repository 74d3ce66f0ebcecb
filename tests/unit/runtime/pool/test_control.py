import socket
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from test_pool import AheadEngine, opened, until

from toolc.runtime.pool import control, keeper
from toolc.runtime.pool.control import ControlSocket, reports
from toolc.runtime.pool.decision import ASSUMED_BYTES
from toolc.sandbox.host import owner
from toolc.sandbox.host.owner import Owner


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(owner, "_base", lambda: tmp_path)


@pytest.fixture
def engine() -> Iterator[AheadEngine]:
    yield AheadEngine()
    keeper.KEEPER.close()


def test_the_pool_of_a_process_is_reported(engine: AheadEngine) -> None:
    with opened(engine) as executor:
        assert [*reports()] == []
        executor.run("word", {})
        until(lambda: [*reports()])
        (found,) = reports()
        assert (found.owner, found.waiting) == (Owner.current(), 1)
        assert 0 < found.memory_bytes <= 100 * ASSUMED_BYTES
    assert [*reports()] == []


def test_only_the_user_can_reach_the_socket(engine: AheadEngine, tmp_path: Path) -> None:
    with opened(engine) as executor:
        executor.run("word", {})
        until(lambda: [*reports()])
        folder = tmp_path / Owner.current().label()
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert [each.name for each in folder.iterdir()] == ["pool"]
    assert [*folder.iterdir()] == []


def test_a_client_that_ends_at_once_does_not_disturb() -> None:
    listening = ControlSocket()
    with control._short_path(Owner.current().directory() / "pool") as address:
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as client:
            client.connect(address)
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as client:
            client.connect(address)
            for _ in range(3):  # one more than clients
                listening.serve(lambda: {"waiting": 1})
            assert client.recv(100) == b'{"waiting": 1}'
    listening.close()
