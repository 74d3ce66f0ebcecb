"""What runs a registry's tools."""

from __future__ import annotations

import math
from collections.abc import AsyncGenerator, Callable, Generator, Iterable, Iterator
from contextlib import nullcontext
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Final, Protocol, Self, runtime_checkable
from weakref import finalize

from toolc.client.messages import find_provider
from toolc.config.secret_sources import SecretStore
from toolc.config.user_config import Configuration, load_configuration
from toolc.functions.define import define
from toolc.model import argument_checks
from toolc.model.call import Ask, Confirm, ToolCall
from toolc.model.errors import NoEngineError, UsageError
from toolc.model.events import BatchEvent, Event, Listener
from toolc.model.json_schema import JsonObject, JsonValue
from toolc.model.lock_file import Lock
from toolc.model.names import engine_names
from toolc.model.plan import Profile
from toolc.model.registry import RegisteredTool
from toolc.model.result import Text, ToolResult
from toolc.model.spec.tool import ToolSpec
from toolc.policy.policy import Policy
from toolc.runtime.caller import no_caller
from toolc.runtime.cancellation import Cancellation
from toolc.runtime.execution import async_calls
from toolc.runtime.execution.admission import DenyList
from toolc.runtime.execution.async_calls import WholeBatch, stream_events
from toolc.runtime.execution.batch import Mode, Order, Steer, new_call_id, with_ids
from toolc.runtime.execution.executor import CallPipeline, execute
from toolc.runtime.output.result_store import ResultStore
from toolc.runtime.output.truncation import READ_RESULT
from toolc.runtime.sandboxed.options import CallOptions
from toolc.runtime.sessions.pool import IDLE_SECONDS, Sessions
from toolc.sandbox.base import Engine
from toolc.sandbox.selection import EngineSelection, close_unused, in_use, select, selection

__all__ = ["Executor"]


@runtime_checkable
class CallableTools(Protocol):
    """The tools that an executor can call. ``toolc.Registry`` implements it."""

    def registered(self, name: str) -> RegisteredTool:
        """Return the tool with this name or alias. Raises ``UsageError`` if there is none."""

    def called(self, name: str) -> RegisteredTool:
        """Return the tool with this name or alias, or a part that only other tools call."""

    def definitions(self, provider: str) -> list[JsonValue]:
        """Return the value of the ``tools`` argument of this provider's SDK."""

    def __contains__(self, name: object) -> bool: ...

    def __iter__(self) -> Iterator[ToolSpec]: ...


class Executor:
    """Runs a registry's tools, each call in a sandbox of its own. Safe to use from several threads.

    ``workspace`` is the folder that tools with a workspace work on; ``engine`` one of the names of
    ``toolc run --engine``, ``auto`` for the first that can run a call, or an engine object of your own; None is
    the one of the user's own ``configuration`` (by default what ``load_configuration`` finds), else ``auto``;
    ``timeout`` is in seconds and can only lower what a spec allows. ``ask`` is given what a tool would change
    in its workspace where the spec says ``commit: ask``, and says whether it may; without it, it may not.
    ``confirm`` is given each call of a tool whose spec says ``confirm: true`` and answers ``Allow()``, ``Deny()``
    or ``Allow(other arguments)``; without it such a call is denied. Both are asked on the thread of the call.
    A tool whose spec says ``lifetime: session`` has one sandbox for all its calls, one after another, until
    ``close``, or until nobody has called it for ``session_idle`` seconds.
    With ``keep_results``, what is cut out of long results is kept until ``close``, and one more tool is offered by
    which the model can read it: ``read_result``. With a ``lock``, what it does not approve is not called: then
    ``LockError`` is raised. With a ``policy`` (see ``read_policy``), what it does not allow is not
    called either, whoever compiled it: ``PolicyError``.
    """

    def __init__(  # noqa: PLR0913  one parameter per option
        self,
        registry: CallableTools,
        *,
        workspace: str | Path | None = None,
        engine: str | Engine | None = None,
        timeout: float | None = None,
        ask: Ask | None = None,
        confirm: Confirm | None = None,
        configuration: Configuration | None = None,
        secrets: SecretStore | None = None,
        session_idle: float = IDLE_SECONDS,
        keep_results: bool = False,
        lock: Lock | None = None,
        policy: Policy | None = None,
    ) -> None:
        if not isinstance(registry, CallableTools):
            raise UsageError(f"registry is a toolc.Registry, and not {registry!r:.60}")
        if isinstance(engine, str) and engine not in engine_names():
            raise UsageError(f"there is no engine {engine!r}; choose one of: {', '.join(engine_names())}")
        if not (engine is None or isinstance(engine, str) or callable(getattr(engine, "unsupported_reason", None))):
            raise UsageError(f"engine is a name or an Engine, and not {engine!r:.60}; or leave it out")
        if session_idle != math.inf:
            argument_checks.seconds("a session_idle", session_idle)
        argument_checks.hook("ask", ask)
        argument_checks.hook("confirm", confirm)
        argument_checks.optional("configuration", configuration, Configuration, "a toolc.Configuration")
        argument_checks.optional("secrets", secrets, SecretStore, "a SecretStore")
        argument_checks.optional("lock", lock, Lock, "a Lock")
        argument_checks.optional("policy", policy, Policy, "a Policy")
        configuration = configuration or load_configuration()
        self.registry = registry
        self._denials = DenyList()
        self._engine = configuration.engine if engine is None else engine
        self._setting = CallOptions(
            choose=self._choose,
            accept_unenforced=configuration.accept_unenforced,
            workspace=argument_checks.path("workspace", workspace) if workspace is not None else None,
            timeout_ms=_milliseconds(timeout) if timeout is not None else None,
            ask=ask,
            confirm=confirm,
            denied=self._denials.reason,
            reveal=(secrets or SecretStore(configuration.secrets)).reveal,
            sessions=Sessions(session_idle),
            shelf=ResultStore() if keep_results else None,
            lock=lock,
            policy=policy,
        )
        self._own = _own_tools(self._setting.shelf)
        # An executor that nobody closed must not keep sandboxes for nobody.
        finalize(self, self._setting.sessions.close)
        if self._setting.shelf:
            finalize(self, self._setting.shelf.close)

    @property
    def confirm(self) -> Confirm | None:
        """Who is asked where a spec says ``confirm: true``."""
        return self._setting.confirm

    def deny(self, *names: str, tags: Iterable[str] = ()) -> None:
        """Call the tools of these names (or aliases), and all that have one of these tags, no more.

        They are not in ``definitions``, and a call of one is a ``ToolDenied`` and a result of kind ``denied``, also
        where another tool makes it. At any time, from any thread; what has started goes on. Raises ``UsageError``
        for a name that no tool has, since a list with a slip of the pen denies nothing, and for tags
        that are no list of texts.
        """
        self._denials.deny(map(self._name, names), tags)

    def allow(self, *names: str, tags: Iterable[str] = ()) -> None:
        """Take these names and tags off the list again. A tool whose tag is still on it stays denied.

        Raises ``UsageError`` for a name that no tool has, and for tags that are no list.
        """
        self._denials.allow(map(self._name, names), tags)

    def definitions(self, provider: str) -> list[JsonValue]:
        """The value of that provider's SDK's ``tools`` argument, without tools that are denied.

        Raises ``UsageError`` for an unknown provider.
        """
        return deepcopy(find_provider(provider).lower(self.tools).tools)  # they share schemas with the tools

    @property
    def tools(self) -> tuple[ToolSpec, ...]:
        """What ``definitions`` defines, sorted by name."""
        own = {tool.spec.name: tool.spec for tool in self._own}
        offered = {tool.name: tool for tool in self.registry} | own
        return tuple(tool for _, tool in sorted(offered.items()) if not self._denials.reason(tool))

    def run(
        self,
        name: str,
        arguments: JsonObject,
        *,
        call_id: str | None = None,
        on_event: Listener | None = None,
        confirm: Confirm | None = None,
        cancellation: Cancellation | None = None,
    ) -> ToolResult:
        """Call a tool and wait for its result, which says ``is_error`` where the tool or its arguments failed.

        ``on_event`` is told of the start, of output and progress, and of the end, on this thread. ``confirm``
        answers for this call in the executor's place. ``cancellation`` can end the call from another thread.
        Raises ``UsageError`` for an unknown tool or a refused workspace, and ``InfrastructureError`` where the
        sandbox could not do its work.
        """
        tool = self._registered(name)
        call = ToolCall(name=name, arguments=arguments, call_id=argument_checks.call_id(call_id or new_call_id()))
        argument_checks.listener("on_event", on_event)
        argument_checks.hook("confirm", confirm)
        _check_open(cancellation)
        setting = self._setting if confirm is None else replace(self._setting, confirm=confirm)
        with in_use():
            return execute(tool, call, setting, on_event=on_event, cancellation=cancellation, find=self._called)

    async def arun(
        self,
        name: str,
        arguments: JsonObject,
        *,
        call_id: str | None = None,
        on_event: Listener | None = None,
        confirm: Confirm | None = None,
    ) -> ToolResult:
        """``run`` for ``asyncio``. To cancel the task cancels the call, and waits until its sandbox is gone.

        ``on_event`` is told on the event loop's thread, ``confirm`` asked on one of the call's own.
        """
        return await async_calls.result(self._told(name, arguments, call_id, confirm), on_event)

    def stream(
        self, name: str, arguments: JsonObject, *, call_id: str | None = None
    ) -> Generator[Event, None, ToolResult]:
        """Call a tool and get its events as they come; the last is a ``ToolEnd`` and holds the result.

        The call starts with the first ``next``. To leave early, close the iterator (``contextlib.closing``):
        that cancels the call and waits until its sandbox is gone. Raises what ``run`` raises.
        """
        self._registered(name)
        return stream_events(self._told(name, arguments, call_id))

    def astream(self, name: str, arguments: JsonObject, *, call_id: str | None = None) -> AsyncGenerator[Event, None]:
        """``stream`` for ``asyncio``; to leave early, use ``contextlib.aclosing``."""
        self._registered(name)
        return async_calls.async_events(self._told(name, arguments, call_id))

    def run_batch(
        self,
        calls: Iterable[ToolCall],
        *,
        mode: Mode = "parallel",
        size: int | None = None,
        steer: Steer | None = None,
        timeout: float | None = None,
        on_event: Listener | None = None,
        cancellation: Cancellation | None = None,
    ) -> list[ToolResult]:
        """Make several calls, and get their results in the order of the calls, whatever order they end in.

        ``mode`` is ``parallel`` (``size`` at once), ``sequential``, or ``batched`` (groups of ``size``, one after
        the other). Between calls or groups ``steer`` is given the results so far; if it returns a reason, the rest
        is skipped and each such result says why. A call that fails leaves the others alone; an unknown tool is a
        result of kind ``not_found``. After ``timeout`` seconds, and once ``cancellation`` is cancelled, calls that
        are under way end and the rest does not start: each of them has a result that says so. ``on_event`` is told
        of all calls, one at a time, from several threads.

        Raises ``UsageError`` for an order that makes no sense, before anything starts, and ``BatchError``, which
        holds every result, once all is over and calls could not be made.
        """
        argument_checks.listener("on_event", on_event)
        _check_open(cancellation)
        batch = self._batch(calls, Order(mode=mode, size=size, steer=steer), timeout)
        with nullcontext(cancellation) if cancellation else Cancellation() as given:
            return batch.run(on_event or no_caller, given)

    async def arun_batch(
        self,
        calls: Iterable[ToolCall],
        *,
        mode: Mode = "parallel",
        size: int | None = None,
        steer: Steer | None = None,
        timeout: float | None = None,
        on_event: Listener | None = None,
    ) -> list[ToolResult]:
        """``run_batch`` for ``asyncio``. To cancel the task cancels all calls, and waits until they are over.

        ``on_event`` is told on the event loop's thread; ``steer`` is asked on one of the batch's own.
        """
        batch = self._batch(calls, Order(mode=mode, size=size, steer=steer), timeout)
        return await async_calls.result(batch.run, on_event)

    def stream_batch(
        self,
        calls: Iterable[ToolCall],
        *,
        mode: Mode = "parallel",
        size: int | None = None,
        steer: Steer | None = None,
        timeout: float | None = None,
    ) -> Generator[BatchEvent, None, None]:
        """Make several calls and get the events of all as they come; the last is a ``BatchEnd`` with the results.

        What is given is as for ``run_batch``. Each event says by ``call_id`` whose it is. The calls start with the
        first ``next``. To leave early, close the iterator (``contextlib.closing``): calls under way end, the rest
        does not start, and it returns when all sandboxes are gone. Raises what ``run_batch`` raises, a
        ``BatchError`` after the last event.
        """
        return self._batch(calls, Order(mode=mode, size=size, steer=steer), timeout).events()

    def astream_batch(
        self,
        calls: Iterable[ToolCall],
        *,
        mode: Mode = "parallel",
        size: int | None = None,
        steer: Steer | None = None,
        timeout: float | None = None,
    ) -> AsyncGenerator[BatchEvent, None]:
        """``stream_batch`` for ``asyncio``; to leave early, use ``contextlib.aclosing``."""
        return self._batch(calls, Order(mode=mode, size=size, steer=steer), timeout).aevents()

    def close(self) -> None:
        """End sessions, and if no call is under way give up all else that is held: connections, threads, folders.

        A session that is being called ends with that call. One small process stays until this one ends: it
        removes what would be left if this one were killed.
        """
        self._setting.sessions.close()
        if self._setting.shelf:
            self._setting.shelf.close()
        close_unused()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _choose(self, profile: Profile) -> EngineSelection:
        if isinstance(self._engine, str):
            return select(self._engine, profile)
        if reason := self._engine.unsupported_reason(profile):
            raise NoEngineError(reason)
        return selection(self._engine, profile)

    def _told(
        self, name: str, arguments: JsonObject, call_id: str | None, confirm: Confirm | None = None
    ) -> Callable[[Listener, Cancellation], ToolResult]:
        """A call that waits to be given who hears of it, and what cancels it."""

        def call(tell: Listener, cancellation: Cancellation) -> ToolResult:
            return self.run(name, arguments, call_id=call_id, on_event=tell, confirm=confirm, cancellation=cancellation)

        return call

    def _batch(self, calls: Iterable[ToolCall], order: Order, timeout: float | None) -> WholeBatch:
        argument_checks.hook("steer", order.steer)
        seconds = None if timeout is None else argument_checks.seconds("a timeout", timeout)
        return WholeBatch(
            calls=with_ids(calls), order=order, timeout=seconds, made=CallPipeline(self._setting, self._called)
        )

    def _registered(self, name: str) -> RegisteredTool:
        """A tool that a caller may name. Raises ``UsageError``."""
        return next((tool for tool in self._own if tool.spec.name == name), None) or self.registry.registered(name)

    def _called(self, name: str) -> RegisteredTool:
        """The same, or a tool that one of these calls. Raises ``UsageError``."""
        return next((tool for tool in self._own if tool.spec.name == name), None) or self.registry.called(name)

    def _name(self, name: str) -> str:
        return self._called(name).spec.name


def _own_tools(shelf: ResultStore | None) -> tuple[RegisteredTool, ...]:
    if shelf is None:
        return ()

    return (read_result_tool(shelf),)


def _check_open(cancellation: Cancellation | None) -> None:
    given = argument_checks.optional("cancellation", cancellation, Cancellation, "a toolc.Cancellation")
    if given and not given.is_cancelled and given.fileno() < 0:
        raise UsageError("cancellation is closed, and could end no call any more; make the call inside its with")


def _milliseconds(timeout: float) -> int:
    return max(1, round(argument_checks.seconds("a timeout", timeout) * 1000))


PAGE_BYTES: Final = 32 * 1024
MAX_PAGE_BYTES: Final = 128 * 1024
"""How much one call reads if it says nothing, and at most: less than a tool's default output limit."""


def read_result_tool(shelf: ResultStore) -> RegisteredTool:
    """The tool for one session's ``shelf``; it reads nothing else."""

    def read_result(id: str, offset: int, limit: int) -> ToolResult:  # noqa: A002  the word in details.full_result
        page = shelf.read(id, offset, limit)
        if page is None:
            message = f"there is no result {id!r} to read on: only this session's are kept, and the oldest go first"
            return ToolResult.failure(message, kind="not_found")
        if page.offset >= page.total_bytes:
            message = f"the result has {page.total_bytes} bytes, and offset {offset} is beyond them"
            return ToolResult.failure(message, kind="invalid_args")
        left = page.total_bytes - page.next_offset
        more = f"{left} more: go on at offset {page.next_offset}" if left else "this is the end"
        note = f"[bytes {page.offset} to {page.next_offset} of {page.total_bytes}; {more}]"
        return ToolResult(content=(Text(page.text), Text(note)))

    tool = define(
        READ_RESULT,
        "Read on in a result of another tool that was too long and was cut in the middle. "
        "The line at the cut says with which id and offset.",
        parameters={
            "type": "object",
            "properties": {
                "id": {
                    "type": "string",
                    "description": "The id in the line at the cut, e.g. 'result_0a1b2c3d4e5f6789'",
                },
                "offset": {
                    "type": "integer",
                    "minimum": 0,
                    "default": 0,
                    "description": "Where to begin, in bytes from the start of the whole result",
                },
                "limit": {
                    "type": "integer",
                    "minimum": 256,
                    "maximum": MAX_PAGE_BYTES,
                    "default": PAGE_BYTES,
                    "description": "How many bytes to read at most",
                },
            },
            "required": ["id"],
        },
        label="Read on in a long result",
        read_only=True,
        idempotent=True,
        open_world=False,
    )
    return tool.handler(read_result).registered()
