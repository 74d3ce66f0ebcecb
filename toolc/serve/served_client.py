"""A client of a server, the calls it runs, and its quotas. State belongs to the client, never to an MCP session."""

from __future__ import annotations

import logging
import math
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager
from secrets import token_urlsafe
from threading import Thread
from time import monotonic, time
from typing import Final, TypeAlias, TypeVar

import anyio
import anyio.to_thread

from toolc.client.executor import Executor
from toolc.client.registry import Registry
from toolc.config.configuration import ClientSettings
from toolc.dataclass import dataclass
from toolc.model.call import NO_CLAIMS, Claims, Confirm, ToolCall
from toolc.model.errors import InfrastructureError, RegistryError, ToolcError
from toolc.model.events import Listener
from toolc.model.json_schema import JsonObject, JsonValue
from toolc.model.registry import RegisteredTool
from toolc.model.result import ToolResult
from toolc.runtime.cancellation import Cancellation
from toolc.runtime.execution.batch import new_call_id
from toolc.runtime.workspace.mount import WorkspaceFolder
from toolc.serve.mcp_interaction import InputRequiredError

T = TypeVar("T")

MAX_CALLS: Final = 16
"""The maximum number of concurrent calls. Others wait. It is below anyio's 40 threads, because stdin needs one."""

MAX_CLIENT_CALLS: Final = 16
"""The maximum number of concurrent calls of a client. Others wait, so that other clients get a share."""

MAX_REQUESTS: Final = 1024
"""The maximum number of open requests of a client, and of its calls that run or wait."""

STATE_SECONDS: Final = 600.0
"""How long a client may take to answer a question that ended a call, in seconds."""

CHECK_SECONDS: Final = 60.0
"""How long the answers of MCP servers are used for lists of tools, in seconds. Each call asks anew."""

MAX_QUESTIONS: Final = 1024
"""The maximum number of questions of a client that ended a call and have no answer yet."""


Failed: TypeAlias = tuple[int, str]
"""The status of HTTP and the message of a call that has no result."""


class QuotaError(Exception):
    """A client has used up a quota, or the server is shutting down. It may try again after ``seconds``."""

    def __init__(self, message: str, seconds: float) -> None:
        super().__init__(message)
        self.seconds = max(1, math.ceil(seconds))


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningCall:
    """A call that is running or waiting for a thread. ``executor`` stays the same even if the tools change.

    ``claims`` come from the request that made the call.
    """

    call_id: str
    owner: ServedClient
    tool: str
    executor: Executor
    cancellation: Cancellation
    started: float
    claims: Claims

    def run(self, arguments: JsonObject, on_event: Listener, confirm: Confirm | None = None) -> ToolResult | Failed:
        """Run the call on this thread. Return errors instead of raising them, because a task group would wrap them.

        ``confirm`` asks the client, unless the executor has its own function. Raises only ``InputRequiredError``.
        """
        try:
            return self.executor.run(
                self.tool, arguments, call_id=self.call_id, on_event=on_event,
                confirm=confirm if self.executor.confirm is None else None,
                cancellation=self.cancellation, caller=self.claims,
            )  # fmt: skip
        except InputRequiredError:
            raise
        except ToolcError as error:
            status = 503 if isinstance(error, InfrastructureError) else 500 if isinstance(error, RegistryError) else 403
            return status, f"{self.tool}: {error}"
        except Exception as error:  # noqa: BLE001  a bug in toolc: the client must get an answer without a traceback
            return 500, f"this is a bug in toolc: {type(error).__name__}"

    async def on_thread(self, work: Callable[[], T], *at_end: Callable[[], None]) -> T:
        """Run ``work`` on a thread when it is the call's turn.

        Cancelling this task cancels the call, calls ``at_end``, and waits for the thread.
        """

        async def cancel() -> None:
            try:
                await anyio.sleep_forever()
            finally:
                for action in (self.cancellation.cancel, *at_end):  # no effect after the end of the call
                    action()

        async with self.owner.turn(), anyio.create_task_group() as tasks:
            tasks.start_soon(cancel)
            with anyio.CancelScope(shield=True):
                result = await anyio.to_thread.run_sync(work, limiter=self.owner.calls.threads)
            tasks.cancel_scope.cancel()
        return result


class ServerCalls:
    """The calls of all clients of a server. Each has a thread, and at most ``number`` run at a time."""

    def __init__(self, number: int = MAX_CALLS) -> None:
        self.free = anyio.Semaphore(number)
        self.threads = anyio.CapacityLimiter(number)
        self.running: dict[str, RunningCall] = {}
        self.is_closing = False
        self._retired: list[ServedClient] = []

    def retire(self, client: ServedClient) -> None:
        """Close the executor of a client that makes no further calls, once its running calls have ended."""
        self._retired.append(client)
        self.close_unused()

    def close_unused(self) -> None:
        """Close the executors of retired clients without running calls, on separate threads."""
        used = [call.owner for call in self.running.values()]
        for each in [each for each in self._retired if each not in used]:
            self._retired.remove(each)
            Thread(target=each.executor.close, name="toolc retired").start()

    async def drain(self, seconds: float) -> None:
        """Refuse further calls, and return when none is running. After ``seconds``, cancel the running calls."""
        self.is_closing = True
        with anyio.move_on_after(seconds):
            await self._ended()
        for call in list(self.running.values()):
            call.cancellation.cancel()
        await self._ended()

    async def _ended(self) -> None:
        while self.running:
            await anyio.sleep(0.02)


class Reservation:
    """The right to make one call. The call that takes the right releases it when it ends."""

    def __init__(self, client: ServedClient) -> None:
        self._client = client
        self._is_open = True
        self.is_taken = False

    def take(self) -> bool:
        """Take the right if it is still available. Return whether this succeeded."""
        is_first = self._is_open and not self.is_taken
        self.is_taken = True
        return is_first

    def release(self) -> None:
        """Give the right back. Later calls have no effect."""
        if self._is_open:
            self._is_open = False
            self._client.reserved -= 1


class ServedClient:
    """A client with its own executor, and therefore its own workspace, secrets and session sandboxes.

    The quotas are ``rate``, ``concurrent`` and ``sandboxes`` of its settings. ``asking`` lets the client be asked one
    question at a time, and ``receives_logs`` sends it the stderr of tools. ``workspace`` is where it may put files. Its
    calls and tasks belong to ``key``, which differs for JWTs of one user with different scopes. Use it on the thread of
    the event loop.
    """

    def __init__(
        self, name: str, executor: Executor, calls: ServerCalls, settings: ClientSettings | None = None
    ) -> None:
        self.name = name
        self.key: object = name
        self.calls = calls
        self.asking = anyio.Lock()
        self.executor = executor
        self.workspace: WorkspaceFolder | None = None
        self.reserved = 0
        self.body_bytes = 0
        self.receives_logs = False
        self._requests = 0
        self._quota = settings or ClientSettings()
        self._turns = anyio.Semaphore(self._quota.concurrent or MAX_CLIENT_CALLS)
        self._checking = anyio.Lock()
        self._checked: tuple[Executor, float, frozenset[str]] | None = None
        self._questions: dict[str, float] = {}
        self._budget, self._refilled = float(self._quota.rate or 0), monotonic()

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Wait until a call may run. At the end of the block, the next call may run."""
        async with self._turns, self.calls.free:
            yield

    def open_request(self) -> None:
        """Count a request as open until ``close_request``. Raises ``QuotaError``."""
        if self._requests >= MAX_REQUESTS:
            raise QuotaError(f"{MAX_REQUESTS} requests of this client are open, which is the maximum", 1)
        self._count_in_rate()
        self._requests += 1

    def close_request(self, body_bytes: int) -> None:
        """Stop counting a request with a body of this size."""
        self._requests -= 1
        self.body_bytes -= body_bytes

    def _count_in_rate(self) -> None:
        rate = self._quota.rate
        if rate is None:
            return
        now = monotonic()
        self._budget = min(rate, self._budget + (now - self._refilled) * rate / 60)
        self._refilled = now
        if self._budget < 1:
            raise QuotaError(f"more than {rate} requests in a minute", (1 - self._budget) * 60 / rate)
        self._budget -= 1

    async def changed_tools(self) -> Collection[str]:
        """Return the tools whose MCP servers now define them differently. Asks each server at most once a minute."""
        async with self._checking:
            executor, now = self.executor, monotonic()
            if self._checked is None or self._checked[0] is not executor or now - self._checked[1] > CHECK_SECONDS:
                changes = await anyio.to_thread.run_sync(executor.server_changes)
                for sentence in changes.sentences() if changes else ():
                    logging.getLogger("toolc").warning("%s", sentence)
                self._checked = executor, now, frozenset(changes.changed if changes else ())
            return self._checked[2]

    def reserve(self) -> Reservation:
        """Return the right to make a call. Raises ``QuotaError``."""
        if self.calls.is_closing:
            raise QuotaError("the server is shutting down", 5)
        if self.reserved >= (self._quota.concurrent or MAX_REQUESTS):
            raise QuotaError(f"{self.reserved} calls of this client are running, which is its maximum", 1)
        sandboxes = self._quota.sandboxes
        if sandboxes is not None:
            if self.reserved >= sandboxes:
                raise QuotaError(f"this client uses {sandboxes} sandboxes, which is its maximum", 1)
            Thread(target=self.executor.end_idle_sessions, args=[sandboxes - self.reserved - 1]).start()
        self.reserved += 1
        return Reservation(self)

    @contextmanager
    def calling(
        self, tool: str, reservation: Reservation | None = None, claims: Claims = NO_CLAIMS
    ) -> Iterator[RunningCall]:
        """Yield a new call, which is listed until the block ends. Raises ``QuotaError``."""
        if reservation is None or not reservation.take():
            reservation = self.reserve()
            reservation.take()
        with Cancellation() as cancellation:
            call = RunningCall(
                call_id=new_call_id(), owner=self, tool=tool, executor=self.executor,
                cancellation=cancellation, started=time(), claims=claims,
            )  # fmt: skip
            self.calls.running[call.call_id] = call
            try:
                yield call
            finally:
                del self.calls.running[call.call_id]
                reservation.release()
                self.calls.close_unused()
                if call.executor is not self.executor:
                    self.end_old_sessions()

    async def record_refusal(self, tool: str, arguments: JsonValue, reason: str, claims: Claims) -> None:
        """Record a call that is refused before it runs."""
        call = ToolCall(name=tool, arguments=arguments, call_id=new_call_id())
        await anyio.to_thread.run_sync(self.executor.record_refusal, call, reason, claims)

    def end_old_sessions(self) -> None:
        """Close the sessions of tools that no generation in use contains, on a separate thread."""
        used = [self.executor, *(call.executor for call in self.calls.running.values() if call.owner is self)]
        digests = {each.registry.registered(tool.name).effect_digest for each in used for tool in each.registry}
        parts = {part.effect_digest for each in used for part in _parts(each)}
        Thread(target=self.executor.end_sessions_except, args=[digests | parts]).start()

    def new_question(self) -> str | None:
        """Return the id of a new question that may be answered once. None if too many are open."""
        now = monotonic()
        self._questions = {each: expires for each, expires in self._questions.items() if expires > now}
        if len(self._questions) >= MAX_QUESTIONS:
            return None
        identifier = token_urlsafe(16)
        self._questions[identifier] = now + STATE_SECONDS
        return identifier

    def take_answer(self, identifier: str) -> bool:
        """Return whether the answer to this question is the first one and in time."""
        return self._questions.pop(identifier, 0.0) > monotonic()


def _parts(executor: Executor) -> Iterable[RegisteredTool]:
    return executor.registry.parts.by_name.values() if isinstance(executor.registry, Registry) else ()
