"""The state that all routes of a server share: its tools, its clients and the running calls."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Final, TypeAlias

from toolc.client.executor import Executor
from toolc.client.registry import Registry
from toolc.config.configuration import ClientSettings, Configuration
from toolc.dataclass import dataclass, replace
from toolc.model.call import Confirm
from toolc.model.errors import UsageError
from toolc.model.lock_file import Lock
from toolc.runtime.workspace.mount import WorkspaceFolder, mount
from toolc.serve.confirmations import Confirmations, refuse
from toolc.serve.http.gate import Caller
from toolc.serve.http.settings import ConfirmMode
from toolc.serve.mcp_options import NO_OPTIONS, McpOptions
from toolc.serve.offered import deny, needing_workspace, with_tags, without
from toolc.serve.served_client import ServedClient, ServerCalls

MAX_CALLS: Final = 64
"""The maximum number of concurrent calls of all clients."""

MAX_CLIENTS: Final = 1000
"""The maximum number of clients with an executor. The least recently used one starts anew."""

OpenExecutor: TypeAlias = Callable[[Registry, str, ClientSettings, Confirm | None], Executor]
"""Returns a new executor of these tools for a client, with its workspace and secrets, and the hook that confirms."""


class ClientSettingsFile:
    """The settings of clients and issuers. They are read again after each change of the files in ``paths``.

    If a file has errors, the last valid settings stay in place, and ``problem`` has the errors.
    """

    def __init__(self, paths: Sequence[Path] = (), load: Callable[[], Configuration] = Configuration) -> None:
        self.problem = ""
        self._paths = paths
        self._load = load
        self._state = self._now()
        self._configuration = load()

    def read_again(self) -> None:
        """Read the settings again, even if the files have not changed."""
        self._state, self.problem = self._now(), ""
        try:
            self._configuration = self._load()
        except UsageError as error:
            self.problem = f"the settings of clients are unchanged: {error}"
            logging.getLogger("toolc").error(self.problem)

    def settings_of(self, name: str) -> ClientSettings:
        """Return the settings of the client whose token has this name."""
        clients = self.current().clients
        return clients.get(name) or clients.get("default") or ClientSettings()

    def entry_of(self, issuer: str, subject: str) -> str | None:
        """Return the entry of the client with this subject, otherwise ``default``. None if neither exists."""
        clients = self.current().clients
        found = (name for name, each in clients.items() if (each.issuer, each.subject) == (issuer, subject))
        return next(found, "default" if "default" in clients else None)

    def current(self) -> Configuration:
        """Return the last valid configuration."""
        if self._now() != self._state:
            self.read_again()
        return self._configuration

    def _now(self) -> tuple[tuple[int, int, int], ...]:
        states = [each.stat() for each in self._paths if each.exists()]
        return tuple((each.st_mtime_ns, each.st_ino, each.st_size) for each in states)


@dataclass(frozen=True, slots=True)
class _Known:
    caller: Caller
    settings: ClientSettings
    client: ServedClient


class HttpHost:
    """The clients of a server. With its first request, each client gets its own executor from ``open_executor``.

    ``settings`` has the settings of the clients. ``workspace`` is the folder for clients that have none of their own.
    Tools with a name or a tag in ``denied`` are denied to everyone. ``mcp`` has the options of ``/mcp``. ``metrics``
    can be set to a function that returns the text of ``/metrics``.
    """

    def __init__(
        self,
        tools: Registry,
        open_executor: OpenExecutor,
        *,
        settings: ClientSettingsFile | None = None,
        workspace: Path | None = None,
        denied: Sequence[str] = (),
        confirm: ConfirmMode = "client",
        mcp: McpOptions = NO_OPTIONS,
    ) -> None:
        self.tools = tools
        self.mcp = mcp
        self.metrics: Callable[[], bytes] | None = None
        self.calls = ServerCalls(MAX_CALLS)
        self.confirmations = Confirmations(self.calls.running)
        self._confirm = confirm
        self._open_executor = open_executor
        self.settings = settings or ClientSettingsFile()
        self._workspace = workspace
        self._denied = denied
        self._clients: dict[tuple[object, ...], _Known] = {}
        self._lock: Lock | None = None  # of a later generation
        self.generation = 1
        self.tools_problem = ""
        self.on_changed: list[Callable[[], Awaitable[None]]] = []

    @property
    def clients(self) -> Mapping[str, ServedClient]:
        """The clients that have sent a request, by name."""
        return {known.caller.name: known.client for known in self._clients.values()}

    @property
    def problem(self) -> str:
        """The reason why the tools or the settings of clients are out of date, or an empty string."""
        return "\n".join(filter(None, (self.tools_problem, self.settings.problem)))

    def client_of(self, caller: Caller) -> ServedClient:
        """Return the client of a request. If its settings have changed, it gets a new executor."""
        settings = self.settings.settings_of(caller.entry or caller.name)
        known = self._clients.pop(caller.key, None)
        if known and (known.caller, known.settings) == (caller, settings):
            self._clients[caller.key] = known  # the last one in use is the last to be forgotten
            return known.client
        if known:
            self.calls.retire(known.client)
        workspace = self._usable_workspace(caller, settings)
        executor = self._executor(caller, settings, workspace)
        client = ServedClient(caller.name, executor, self.calls, settings)
        client.workspace, client.key = workspace, caller.key
        self._clients[caller.key] = _Known(caller, settings, client)
        if len(self._clients) > MAX_CLIENTS:
            self.calls.retire(self._clients.pop(next(iter(self._clients))).client)
        return client

    async def serve(self, tools: Registry, lock: Lock | None) -> None:
        """Serve a new generation of tools. Running calls finish with the old one. Subscribed clients are notified."""
        self.tools_problem = ""
        if _digests(tools) == _digests(self.tools):
            return
        self.tools, self.generation, self._lock = tools, self.generation + 1, lock
        logging.getLogger("toolc").warning("serving generation %s with %s tools", self.generation, len(tools))
        for known in self._clients.values():
            offered = self._offered(known.caller, known.settings, known.client.workspace)
            known.client.executor = known.client.executor.with_registry(offered, lock)
            deny(known.client.executor, (*self._denied, *known.settings.deny))
            known.client.end_old_sessions()
        for notify in self.on_changed:
            await notify()

    def close(self) -> None:
        """Close the executors of all clients."""
        for known in self._clients.values():
            known.client.executor.close()

    def _usable_workspace(self, caller: Caller, settings: ClientSettings) -> WorkspaceFolder | None:
        path = settings.workspace or self._workspace
        if path is None:
            return None
        workspace = WorkspaceFolder.of(path)
        try:
            mount(workspace, "ro")
        except UsageError as error:
            logging.getLogger("toolc").error("the client %s has no workspace: %s", caller.name, error)
            return None
        return workspace

    def _offered(self, caller: Caller, settings: ClientSettings, workspace: WorkspaceFolder | None) -> Registry:
        """Return the tools that a client may use."""
        tools = with_tags(with_tags(self.tools, settings.tags), caller.tags)
        return tools if workspace else without(tools, needing_workspace(tools))

    def _executor(self, caller: Caller, settings: ClientSettings, workspace: WorkspaceFolder | None) -> Executor:
        asked = self.confirmations.confirm_for(caller.name) if self._confirm == "api" else None
        confirm = refuse if self._confirm == "refuse" else asked
        tools = self._offered(caller, settings, workspace)
        own = replace(settings, workspace=workspace.path if workspace else None)
        executor = self._open_executor(tools, caller.name, own, confirm)
        if self._lock is not None:
            executor = executor.with_registry(tools, self._lock)
        deny(executor, (*self._denied, *settings.deny))
        return executor


def _digests(tools: Registry) -> set[tuple[str, str, str]]:
    found = map(tools.registered, tools.names)
    return {(each.spec.name, each.surface_digest, each.effect_digest) for each in found}
