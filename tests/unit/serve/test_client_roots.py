"""The workspace of a client over stdio: its only root, and nothing else that it names."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import anyio
import pytest
from calls.fake_tools import executor, text, tool
from mcp import Client
from mcp.client.context import ClientRequestContext
from mcp.server.lowlevel import Server
from mcp.types import ListRootsResult, Root, RootsListChangedNotification

from toolc.client.executor import Executor
from toolc.serve.client_roots import RootWorkspace
from toolc.serve.mcp import make_shared_server
from toolc.serve.served_client import ServedClient, ServerCalls

pytestmark = pytest.mark.anyio
ECHO, LOOK = tool("echo"), tool("look", workspace="ro")


@pytest.fixture
def opened() -> list[Path | None]:
    """The workspaces for which an executor was opened."""
    return []


@pytest.fixture
def served(opened: list[Path | None]) -> Iterator[tuple[ServedClient, RootWorkspace]]:
    def open_executor(workspace: Path | None) -> Executor:
        opened.append(workspace)
        return executor({"look": lambda _: text("seen")}, *((ECHO,) if workspace is None else (ECHO, LOOK)))

    client = ServedClient("stdio", open_executor(None), ServerCalls())
    with closing(RootWorkspace(client, open_executor)) as roots:
        yield client, roots


def server_of(client: ServedClient, roots: RootWorkspace) -> Server[dict[str, Any]]:
    server = make_shared_server(lambda _: client, lambda: client.executor.registry, version="1", tools_change=True)
    server.middleware.append(roots)
    return server


def roots_of(uris: list[str]) -> object:
    async def list_roots(_: ClientRequestContext) -> ListRootsResult:
        return ListRootsResult(roots=[Root.model_validate({"uri": each}) for each in uris])

    return list_roots


async def listed(client: Client) -> list[str]:
    return [each.name for each in (await client.list_tools(cache_mode="bypass")).tools]


async def test_the_only_root_is_the_workspace_and_may_change(
    served: tuple[ServedClient, RootWorkspace], opened: list[Path | None], tmp_path: Path
) -> None:
    (first := tmp_path / "a b").mkdir()
    uris = [first.as_uri()]
    server = server_of(*served)
    async with Client(server, mode="legacy", list_roots_callback=roots_of(uris)) as client:  # type: ignore[arg-type]
        assert await listed(client) == ["echo", "look"]
        assert opened == [None, first]
        uris.append(tmp_path.as_uri())
        await client.session.send_notification(RootsListChangedNotification())
        with anyio.fail_after(60):
            while await listed(client) != ["echo"]:
                await anyio.sleep(0.01)
        uris.pop()
        await client.session.send_notification(RootsListChangedNotification())
        with anyio.fail_after(60):
            while await listed(client) != ["echo", "look"]:
                await anyio.sleep(0.01)
    assert opened == [None, first]


@pytest.mark.parametrize("uris", [[], ["file:///nowhere/at/all"], ["file:///"], ["file://other/tmp"]])
async def test_without_a_usable_root_the_tools_are_left_out(
    uris: list[str], served: tuple[ServedClient, RootWorkspace], caplog: pytest.LogCaptureFixture
) -> None:
    server = server_of(*served)
    async with Client(server, mode="legacy", list_roots_callback=roots_of(uris)) as client:  # type: ignore[arg-type]
        assert await listed(client) == ["echo"]
    assert "of the client cannot be the workspace" in caplog.text or "the client has 0 roots" in caplog.text


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_client_without_roots_is_not_asked(mode: str, served: tuple[ServedClient, RootWorkspace]) -> None:
    async with Client(server_of(*served), mode=mode) as client:
        assert await listed(client) == ["echo"]
