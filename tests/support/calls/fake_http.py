"""A server of fake tools over HTTP, in this process for tests of routes, or as a program that prints its URL."""

import os
import sys
import threading
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import cast

import httpx2
from starlette.types import ASGIApp

from calls.fake_tools import Answer, executor, registry, text, tool
from toolc.client.executor import Executor
from toolc.client.registry import Registry
from toolc.config.configuration import ClientSettings, Configuration
from toolc.model.call import Confirm
from toolc.model.json_schema import JsonObject
from toolc.model.spec.tool import ToolSpec
from toolc.serve.http.application import make_app
from toolc.serve.http.gate import Gate
from toolc.serve.http.host import ClientSettingsFile, HttpHost
from toolc.serve.http.listener import serve_http
from toolc.serve.http.settings import ConfirmMode, HttpSettings
from toolc.serve.tokens import Token

URL = "http://127.0.0.1:8000"
SETTINGS = HttpSettings(host="127.0.0.1", port=8000)
TOKENS = {
    "alice-token": Token(name="alice", digest="", created=0),
    "bob-token": Token(name="bob", digest="", created=0, role="reviewer"),
}
ECHO, WAIT, FAIL = tool("echo", words={"type": "string"}), tool("wait", started={"type": "string"}), tool("fail")
WIPE = replace(tool("wipe", path={"type": "string"}), confirm=True)


def echo(arguments: JsonObject) -> JsonObject:
    return text(str(arguments["words"]))


def wait(arguments: JsonObject) -> JsonObject:
    Path(str(arguments["started"])).touch()
    threading.Event().wait()
    return text("")


ANSWERS: dict[str, Answer] = {"echo": echo, "wait": wait, "wipe": lambda _: text("wiped")}


def fake_host(
    *tools: ToolSpec, denied: Sequence[str] = (), confirm: ConfirmMode = "client", **clients: ClientSettings
) -> HttpHost:
    """Return a host of these tools. Without any, of ``echo`` and ``wipe``. ``clients`` has settings by name."""
    offered = registry(*(tools or (ECHO, WIPE)))
    settings = ClientSettingsFile(load=lambda: Configuration(clients=clients))

    def open_executor(tools: Registry, name: str, _: ClientSettings, confirm: Confirm | None) -> Executor:
        return executor(ANSWERS, *tools, confirm=confirm, client=name)

    return HttpHost(offered, open_executor, settings=settings, denied=denied, confirm=confirm)


@asynccontextmanager
async def running(app: ASGIApp) -> AsyncIterator[httpx2.AsyncClient]:
    """Return a client of a running application. It may send any header."""
    inner = cast("Gate", app).app
    own = httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url=URL, timeout=30)
    async with inner.router.lifespan_context(inner), own as client:  # type: ignore[attr-defined]
        yield client


@asynccontextmanager
async def served(host: HttpHost, settings: HttpSettings = SETTINGS) -> AsyncIterator[httpx2.AsyncClient]:
    """Return a client of a server in this process."""
    try:
        async with running(make_app(host, settings, TOKENS.get)) as client:
            yield client
    finally:
        host.close()


def main() -> None:
    """Serve the tools in the arguments after the first, by default ``echo`` and ``wait``, and print the URL.

    The first argument is the number of seconds for running calls at the end.
    """
    tools = [each for each in (ECHO, WAIT, WIPE) if each.name in (sys.argv[2:] or ("echo", "wait"))]
    host, settings = fake_host(*tools), replace(SETTINGS, port=0, drain_seconds=float(sys.argv[1]))

    def started(bound: HttpSettings) -> None:
        os.write(1, f"{bound.url}\n".encode())

    serve_http(lambda bound: make_app(host, bound, TOKENS.get), host, settings, started)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
