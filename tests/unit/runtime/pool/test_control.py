import os
import socket
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from test_pool import AheadEngine, counts, opened, until, until_waiting

from toolc.model.errors import InfrastructureError
from toolc.runtime.execution import leftovers
from toolc.runtime.pool import control, keeper
from toolc.runtime.pool.control import ControlSocket, PoolReport, reports
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


def test_the_pool_of_a_process_is_reported_and_emptied(engine: AheadEngine) -> None:
    with opened(engine) as executor:
        assert [*reports()] == []
        executor.run("word", {})
        until(lambda: [*reports()])
        (found,) = reports()
        assert (found.owner, found.waiting) == (Owner.current(), 1)
        assert 0 < found.memory_bytes <= 100 * ASSUMED_BYTES
        found.empty()
        assert counts(executor) == (0, 0)
        assert engine.sandboxes[1].fileno() == -1
        assert [*reports()] == []
        # The next call starts the pool again.
        assert not executor.run("word", {}).is_error
        until_waiting(executor)
    assert [*reports()] == []


def test_it_is_one_of_the_leftovers(engine: AheadEngine) -> None:
    with opened(engine) as executor:
        executor.run("word", {})
        until(lambda: [*reports()])
        (found,) = leftovers._pools()
        assert (found.kind, found.name, found.kept) == ("warm sandboxes", f"1 of process {os.getpid()}", "")
        found.remove()
        assert counts(executor) == (0, 0)
    with pytest.raises(InfrastructureError, match="its process does not answer"):
        found.remove()


def test_only_the_user_can_reach_the_socket(engine: AheadEngine, tmp_path: Path) -> None:
    with opened(engine) as executor:
        executor.run("word", {})
        until(lambda: [*reports()])
        folder = tmp_path / Owner.current().label()
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert [each.name for each in folder.iterdir()] == ["pool"]
    assert [*folder.iterdir()] == []


def test_a_client_that_says_nothing_does_not_disturb() -> None:
    listening = ControlSocket()
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as client:
        with control._short_path(Owner.current().directory() / "pool") as address:
            client.connect(address)
        client.shutdown(socket.SHUT_WR)
        listening.serve(lambda _: {})
    listening.serve(lambda _: {})
    listening.close()
    report = PoolReport(owner=Owner.current(), folder=Owner.current().directory(), waiting=1, memory_bytes=1)
    with pytest.raises(InfrastructureError):
        report.empty()
