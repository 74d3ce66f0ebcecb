"""What all routes of a server share: its tools, its clients, and the calls that run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from toolc.client.executor import CallableTools, Executor
from toolc.serve.http.gate import Caller
from toolc.serve.served_client import Quota, ServedClient, ServerCalls

MAX_CALLS: Final = 64
"""The maximum number of concurrent calls of all clients."""

MAX_CLIENT_CALLS: Final = 16
"""The maximum number of concurrent calls of a client without a limit of its own."""


class HttpHost:
    """The clients of a server. Each gets its own executor, which ``open_executor`` makes, when it first calls."""

    def __init__(self, tools: CallableTools, open_executor: Callable[[Caller], Executor]) -> None:
        self.tools = tools
        self.calls = ServerCalls(MAX_CALLS)
        self._open_executor = open_executor
        self._clients: dict[Caller, ServedClient] = {}

    def client_of(self, caller: Caller) -> ServedClient:
        """Return the client that makes a request."""
        client = self._clients.get(caller)
        if client is None:
            quota = Quota(concurrent=MAX_CLIENT_CALLS)
            client = self._clients[caller] = ServedClient(caller.name, self._open_executor(caller), self.calls, quota)
        return client

    def close(self) -> None:
        """Close the executors of all clients."""
        for client in self._clients.values():
            client.executor.close()
