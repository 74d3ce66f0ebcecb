"""``toolc serve --status``: what it prints about a running server, and cancelling a call."""

import socket
import threading
from pathlib import Path

import anyio
import pytest
from calls.fake_http import ANSWERS, SETTINGS, fake_host, running

from toolc.model.errors import UsageError
from toolc.model.json_schema import JsonObject
from toolc.serve.http.application import make_app
from toolc.serve.http.reload import Reloader
from toolc.serve.status import ask_servers, status_folder

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    return status_folder()


async def states(cancel: str | None = None) -> list[JsonObject]:
    return await anyio.to_thread.run_sync(lambda: [*ask_servers({"cancel": cancel})])


async def test_a_server_reports_its_clients_and_calls_and_cancels_one(monkeypatch: pytest.MonkeyPatch) -> None:
    started, release = threading.Event(), threading.Event()

    def slow(_: JsonObject) -> JsonObject:
        started.set()
        release.wait(100)
        return {"content": [], "structured": None, "details": {}}

    monkeypatch.setitem(ANSWERS, "echo", slow)
    host = fake_host()
    reloader = Reloader(host, lambda: (host.tools, None))
    app = make_app(host, SETTINGS, lambda _: None, reloader)
    async with running(app) as client, anyio.create_task_group() as tasks:
        tasks.start_soon(lambda: client.post("/api/v1/tools/echo", json={"words": "a"}))
        await anyio.to_thread.run_sync(started.wait)
        (state,) = await states()
        assert isinstance(state["calls"], list)
        (call,) = state["calls"]
        assert isinstance(call, dict)
        assert (state["generation"], state["clients"], call["tool"]) == (1, {"local": 1}, "echo")
        (cancelled,) = await states(str(call["id"]))
        assert cancelled["cancelled"] is True
        assert host.calls.running[str(call["id"])].cancellation.is_cancelled
        release.set()
    host.close()
    assert await states() == []


async def test_the_socket_of_a_dead_server_is_removed(folder: Path) -> None:
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(folder / "serve-1.sock"))
    assert await states() == []
    assert not list(folder.iterdir())


def test_a_folder_of_others_is_refused(folder: Path) -> None:
    folder.chmod(0o755)
    with pytest.raises(UsageError, match="chmod 700"):
        status_folder()
