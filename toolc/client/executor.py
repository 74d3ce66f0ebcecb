"""Call the tools of a registry: one call or a batch, blocking, as an iterator of events, or with ``asyncio``."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from copy import copy
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, Self, runtime_checkable
from weakref import WeakSet, finalize

from toolc.client.call_forms import async_streamed, awaited, blocking, streamed
from toolc.config.configuration import Configuration
from toolc.config.secret_sources import SecretStore
from toolc.config.user_config import load_configuration
from toolc.model.call import ApproveChanges, Claims, Confirm, ToolCall
from toolc.model.errors import NoEngineError, UsageError
from toolc.model.events import BatchEnd, BatchEvent, Listener
from toolc.model.json_schema import JsonObject, JsonValue
from toolc.model.lock_file import Lock
from toolc.model.names import engine_names
from toolc.model.plan import Profile
from toolc.model.registry import RegisteredTool
from toolc.model.result import ToolResult
from toolc.model.spec.policy import Policy
from toolc.model.spec.tool import MIN_RESULT_CHARS, ToolSpec
from toolc.runtime import argument_checks
from toolc.runtime.caller import CallContext
from toolc.runtime.cancellation import Cancellation, check_open
from toolc.runtime.execution import async_calls
from toolc.runtime.execution.admission import DenyList
from toolc.runtime.execution.async_calls import CallRunner, no_more
from toolc.runtime.execution.batch import Mode, Order, Steer, new_call_id, with_ids
from toolc.runtime.execution.call_pipeline import CallPipeline
from toolc.runtime.execution.started_ahead import start_ahead
from toolc.runtime.output.truncation import READ_RESULT
from toolc.runtime.pool.pool import STANDARD, ExecutorPool, Pool
from toolc.runtime.sandboxed.options import CallOptions
from toolc.runtime.sessions.pool import IDLE_SECONDS, Sessions
from toolc.runtime.workspace.mount import WorkspaceFolder
from toolc.sandbox.interface import Engine
from toolc.sandbox.selection import EngineSelection, close_unused, in_use, select, selection_of
from toolc.telemetry.observation import EndedCall, Observer

if TYPE_CHECKING:
    from toolc.client.sandbox import Sandbox
    from toolc.runtime.output.result_store import ResultStore
    from toolc.runtime.sandboxed.mcp_offer import ServerChanges


@runtime_checkable
class CallableTools(Protocol):
    """The tools that an executor can call, as implemented by ``toolc.Registry``."""

    def registered(self, name: str) -> RegisteredTool:
        """Return the tool with this name or alias. Raises ``UsageError`` if there is none."""

    def called(self, name: str) -> RegisteredTool:
        """Return the tool with this name or alias, including parts, which only other tools call."""

    def definitions(self, provider: str) -> list[JsonValue]:
        """Return the value of the ``tools`` argument of this provider's SDK."""

    @property
    def toolsets(self) -> Mapping[str, Sequence[str]]:
        """The names of the tools of each toolset."""

    def __contains__(self, name: object) -> bool: ...

    def __iter__(self) -> Iterator[ToolSpec]: ...


def batch_end(results: list[ToolResult]) -> tuple[BatchEvent, ...]:
    """Return the last event of a batch."""
    return (BatchEnd(results=tuple(results)),)


def _folder(workspace: object) -> WorkspaceFolder | None:
    return None if workspace is None else WorkspaceFolder.of(argument_checks.path("workspace", workspace))


class Executor:
    """Call a registry's tools, each call in a separate sandbox. Safe to use from several threads.

    - ``workspace``: the folder for tools that have a workspace. Calls are refused if it is replaced afterwards.
    - ``engine``: a name as for ``toolc run --engine``, or an ``Engine`` object. ``auto`` selects the first engine
      that can run a call. The default is the engine of ``configuration``, or else ``auto``.
    - ``timeout``: the time limit of each call in seconds. It can only lower the limit of a spec.
    - ``approve_changes``: called with the proposed workspace changes if the spec has ``commit: ask``, and returns
      whether to apply them. Without it, they are discarded.
    - ``confirm``: called before each call of a tool whose spec has ``confirm: true``, and returns ``Allow()``,
      ``Deny()`` or ``Allow(other_arguments)``. Without it, these calls are denied. Both functions run on the thread of
      the call.
    - ``configuration``: the user's configuration. The default is the result of ``load_configuration``.
    - ``session_idle``: the number of seconds without a call after which the sandbox of a tool with ``lifetime:
      session`` or ``fork`` is closed.
    - ``keep_results``: whether to store the truncated parts of long results until ``close``, and to offer the tool
      ``read_result``, which reads them.
    - ``max_result_chars``: the maximum length of a result in characters, for a program that passes results on to a
      client, unless the spec has ``result.max_chars``. Without it, only the output limit of the spec applies.
    - ``pool``: how sandboxes are started ahead of calls. Without it, each sandbox is started when a call needs it.
    - ``lock``: a call of a tool that the lock does not approve raises ``LockError``.
    - ``policy``: a call of a tool that the policy does not allow raises ``PolicyError``. See ``read_policy``.
    - ``client``: the client that a server makes the calls for, for the audit log.
    - ``observers``: record calls, in addition to the audit log of ``configuration``.
    """

    def __init__(  # noqa: PLR0913  one parameter per option
        self,
        registry: CallableTools,
        *,
        workspace: str | Path | None = None,
        engine: str | Engine | None = None,
        timeout: float | None = None,
        approve_changes: ApproveChanges | None = None,
        confirm: Confirm | None = None,
        configuration: Configuration | None = None,
        secrets: SecretStore | None = None,
        session_idle: float = IDLE_SECONDS,
        keep_results: bool = False,
        max_result_chars: int | None = None,
        pool: Pool | None = STANDARD,
        lock: Lock | None = None,
        policy: Policy | None = None,
        client: str = "",
        observers: Sequence[Observer] = (),
    ) -> None:
        if not isinstance(registry, CallableTools):
            raise UsageError(f"registry must be a toolc.Registry, not {registry!r:.60}")
        if isinstance(engine, str) and engine not in engine_names():
            raise UsageError(f"there is no engine {engine!r}; choose one of: {', '.join(engine_names())}")
        if not (engine is None or isinstance(engine, str) or callable(getattr(engine, "unsupported_reason", None))):
            raise UsageError(f"engine must be the name of an engine or an Engine object, not {engine!r:.60}")
        if session_idle != math.inf:
            argument_checks.seconds("a session_idle", session_idle)
        if max_result_chars is not None:
            argument_checks.integer("max_result_chars", max_result_chars, MIN_RESULT_CHARS)
        argument_checks.hook("approve_changes", approve_changes)
        argument_checks.hook("confirm", confirm)
        for each in argument_checks.sequence("observers", observers, "functions"):
            argument_checks.function("an observer", each)
        argument_checks.optional("configuration", configuration, Configuration, "a toolc.Configuration")
        argument_checks.optional("secrets", secrets, SecretStore, "a SecretStore")
        argument_checks.optional("pool", pool, Pool, "a toolc.Pool")
        argument_checks.optional("lock", lock, Lock, "a Lock")
        argument_checks.optional("policy", policy, Policy, "a Policy")
        configuration = configuration or load_configuration()
        seconds = None if timeout is None else argument_checks.seconds("a timeout", timeout)
        self.registry = registry
        self._origin: Executor | None = None  # keeps the executor that made this one, whose end closes the sessions
        self._denials = DenyList()
        self._sandboxes: WeakSet[Sandbox] = WeakSet()
        self._read_result: RegisteredTool | None = None
        store: ResultStore | None = None
        if keep_results:
            store, self._read_result = _stored_results(max_result_chars)
        self._engine = configuration.engine if engine is None else engine
        if configuration.audit:
            from toolc.client.audit import audit_log  # lazy: +3 ms; few users record calls

            observers = (*observers, audit_log(configuration.audit).observe)
        self._options = CallOptions(
            select_engine=self._select_engine, accept_unenforced=configuration.accept_unenforced,
            workspace_growth_bytes=configuration.workspace_growth_bytes,
            base_image=configuration.base_image, host_programs=configuration.host_programs,
            workspace=_folder(workspace),
            timeout_ms=None if seconds is None else max(1, round(seconds * 1000)), approve_changes=approve_changes,
            confirm=confirm, denied=self._denials.reason, reveal=(secrets or SecretStore(configuration.secrets)).reveal,
            sessions=Sessions(session_idle), result_store=store, lock=lock,
            policy=policy, pool=ExecutorPool(pool, configuration.warm), served_chars=max_result_chars,
            client=client, observers=tuple(observers),
        )  # fmt: skip
        # An executor that is dropped without close must not keep its sandboxes.
        finalize(self, self._options.sessions.close)
        if pool and (pool_of_calls := self._options.pool):
            finalize(self, pool_of_calls.drop)
            if configuration.warm:
                pool_of_calls.run(partial(start_ahead, pool_of_calls, self._options, registry.called))
        if store:
            finalize(self, store.close)

    @property
    def confirm(self) -> Confirm | None:
        """The function that allows or denies calls of tools whose spec has ``confirm: true``."""
        return self._options.confirm

    def deny(self, *names: str, tags: Iterable[str] = ()) -> None:
        """Deny further calls of the tools with these names or aliases, and of all tools with one of these tags.

        ``definitions`` omits denied tools. A call of a denied tool, even by another tool, emits ``ToolDenied`` and
        returns a result of kind ``denied``. Running calls continue. Raises ``UsageError`` for unknown names and invalid
        tags.
        """
        self._denials.deny((self._called(name).spec.name for name in names), tags)

    def allow(self, *names: str, tags: Iterable[str] = ()) -> None:
        """Remove names and tags from the deny-list. Raises ``UsageError`` as ``deny`` does.

        A tool stays denied while its name or another of its tags is on the list.
        """
        self._denials.allow((self._called(name).spec.name for name in names), tags)

    def definitions(self, provider: str) -> list[JsonValue]:
        """Return the ``tools`` argument for this provider's SDK, without denied tools.

        Raises ``UsageError`` if the provider is unknown, or does not accept this many tools in one request.
        """
        from toolc.client.definitions import definitions_for  # lazy: +20 ms; calls need no provider

        return definitions_for(provider, self.tools, self.registry.toolsets)

    def server_changes(self) -> ServerChanges | None:
        """Ask the MCP servers of the tools for their current tools. Return None without a lock file or such tools."""
        if self._options.lock is None or all(tool.backend.tag != "mcp" for tool in self.registry):
            return None
        from toolc.runtime.composed_backends import import_mcp  # lazy: +400 ms (the SDK); only MCP servers need it
        from toolc.runtime.sandboxed.mcp_offer import server_changes  # lazy: as above

        import_mcp("the tools of MCP servers")
        with in_use():
            return server_changes(self.registry, self._options)

    def request_options(self, provider: str) -> JsonObject:
        """Return the request arguments that ``definitions`` needs beside ``tools``. Raises ``UsageError``."""
        from toolc.client.definitions import request_options_for  # lazy: as in definitions

        return request_options_for(provider, self.tools)

    @property
    def max_parallel(self) -> int:
        """How many calls of a batch run at the same time by default."""
        return Order().max_parallel

    @property
    def tools(self) -> tuple[ToolSpec, ...]:
        """The tools in ``definitions``, sorted by name."""
        offered = {tool.name: tool for tool in self.registry}
        if self._read_result:
            offered[READ_RESULT] = self._read_result.spec
        return tuple(tool for _, tool in sorted(offered.items()) if not self._denials.reason(tool))

    def _run(  # noqa: PLR0913  one parameter per option
        self,
        name: str,
        arguments: JsonObject,
        *,
        call_id: str | None = None,
        on_event: Listener | None = None,
        confirm: Confirm | None = None,
        cancellation: Cancellation | None = None,
        workspace: str | Path | None = None,
        timeout: float | None = None,
        session: str = "",
        caller: Claims | None = None,
    ) -> CallRunner[ToolResult]:
        """Call a tool and return its result. ``is_error`` is set if the tool failed or its arguments are invalid.

        ``on_event`` receives the start, output, progress and end of the call, on this thread. ``confirm`` and
        ``workspace`` replace those of the executor for this call, and ``timeout`` can only lower its limit. Another
        thread can end the call with ``cancellation``. Calls of a tool with ``lifetime: session`` share a sandbox if
        they have the same ``session``. ``caller`` describes who is calling, such as ``{"sub": "user-1"}``, for
        parameters with ``from``. Raises ``UsageError`` for an unknown tool or a refused workspace, and
        ``InfrastructureError`` if the sandbox failed.
        """
        tool = self._registered(name)
        call = ToolCall(name=name, arguments=arguments, call_id=argument_checks.call_id(call_id or new_call_id()))
        argument_checks.listener("on_event", on_event)
        argument_checks.hook("confirm", confirm)
        check_open(cancellation)
        claims = argument_checks.claims(caller)
        folder = _folder(workspace)
        timeout_ms = None if timeout is None else max(1, round(argument_checks.seconds("a timeout", timeout) * 1000))
        options = self._options if confirm is None else replace(self._options, confirm=confirm)
        if folder or session:
            options = replace(options, workspace=folder or options.workspace, session=session)

        def run(on_event: Listener, cancellation: Cancellation) -> ToolResult:
            with in_use():
                context = CallContext(call_id=call.call_id, on_event=on_event, cancellation=cancellation, claims=claims)
                return self._pipeline(options).run(tool, call, context, timeout_ms=timeout_ms)

        return run

    run = blocking(_run)
    arun = awaited(run)
    stream = streamed(_run, no_more)
    astream = async_streamed(_run, no_more)

    def _run_batch(  # noqa: PLR0913  one parameter per option
        self,
        calls: Iterable[ToolCall],
        *,
        mode: Mode = "parallel",
        size: int | None = None,
        steer: Steer | None = None,
        timeout: float | None = None,
        on_event: Listener | None = None,
        cancellation: Cancellation | None = None,
        caller: Claims | None = None,
    ) -> CallRunner[list[ToolResult]]:
        """Run several calls and return their results in the order of the calls.

        - ``mode``: ``parallel`` (``size`` calls at a time), ``sequential``, or ``batched`` (groups of ``size`` calls,
          one group after the other).
        - ``steer``: called between calls or groups with the results so far. If it returns a reason, the remaining
          calls are skipped, and their results state that reason.
        - ``timeout``: the time limit of the whole batch in seconds. When it expires, or when ``cancellation`` is
          cancelled, running calls end and no further call starts. The results of these calls say so.
        - ``on_event``: receives the events of all calls, one at a time, from several threads.
        - ``caller``: a description of who is calling, as for ``run``.

        A call that fails does not affect the others. A call of an unknown tool has a result of kind ``not_found``.
        If options contradict each other, raises ``UsageError`` before any call starts. If calls could not be made,
        raises ``BatchError`` with all results after the last call.
        """
        argument_checks.listener("on_event", on_event)
        check_open(cancellation)
        argument_checks.hook("steer", steer)
        seconds = None if timeout is None else argument_checks.seconds("a timeout", timeout)
        if size is None and mode == "parallel":
            size = self.max_parallel
        claims = argument_checks.claims(caller)
        order, made = Order(mode=mode, size=size, steer=steer), with_ids(calls)
        pipeline = self._pipeline(self._options)

        def run(on_event: Listener, cancellation: Cancellation) -> list[ToolResult]:
            context = CallContext(call_id="", on_event=on_event, cancellation=cancellation, claims=claims)
            return pipeline.batch(made, order, context, seconds)

        return run

    run_batch = blocking(_run_batch)
    arun_batch = awaited(run_batch)
    stream_batch = streamed(_run_batch, batch_end)
    astream_batch = async_streamed(_run_batch, batch_end)

    def sandbox(self, profile: str | JsonObject) -> Sandbox:
        """Open a sandbox in which this program runs commands and accesses files. ``Executor.close`` closes it too.

        ``profile`` is the name of a tool whose sandbox to open, or a dict with the keys of ``sandbox`` in a spec. For a
        tool, the lock, policy, deny-list and confirmation apply as they do to a call. A dict was not reviewed
        (``details["reviewed"]`` is false), so an executor with a lock refuses it. Raises ``UsageError``,
        ``SpecError`` (an invalid profile), ``LockError``, ``PolicyError`` and ``InfrastructureError``.
        """
        from toolc.client.sandbox import open_sandbox  # lazy: +20 ms (the compiler); calls do not open a sandbox

        given = self._registered(profile) if isinstance(profile, str) else profile
        sandbox = open_sandbox(given, self._called, self._options)
        self._sandboxes.add(sandbox)
        return sandbox

    async def asandbox(self, profile: str | JsonObject) -> Sandbox:
        """Like ``sandbox``, for ``asyncio``."""
        return await async_calls.result(lambda _, __: self.sandbox(profile), None)

    def end_session(self, session: str) -> None:
        """Close the sandboxes of the calls with this ``session``. A running call ends first."""
        self._options.sessions.end(session)

    def with_registry(self, registry: CallableTools, lock: Lock | None) -> Self:
        """Return an executor of other tools, with the sessions, sandboxes and deny-list of this one.

        Closing one of them closes both. Running calls of this one finish with its own tools.
        """
        other = copy(self)
        options = replace(self._options, lock=lock)
        vars(other).update(registry=registry, _options=options, _origin=self._origin or self)
        return other

    def end_sessions_except(self, digests: Collection[str]) -> None:
        """Close sessions without a running call, except sessions of tools with one of these effect digests."""
        self._options.sessions.end_except(digests)

    def end_idle_sessions(self, keep: int) -> None:
        """Close sessions without a running call, except the ``keep`` most recently used."""
        self._options.sessions.end_idle(keep)

    def close(self) -> None:
        """Close all sessions, open sandboxes, and sandboxes that wait for calls.

        If no call is running, the connections, threads and folders of the engines are closed too. A session with a
        running call is closed after that call. One small process runs until this process exits, and cleans up if this
        process is killed.
        """
        # Close all of them in reverse order, even if one raises an error.
        with ExitStack() as closings:
            closings.callback(close_unused)
            for each in (self._options.result_store, self._options.pool, self._options.sessions, *self._sandboxes):
                if each:
                    closings.callback(each.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def record_refusal(self, call: ToolCall, reason: str, caller: Claims | None = None) -> None:
        """Record a call that a server refuses instead of running it. ``reason`` is a word, such as ``quota``."""
        self._pipeline(self._options).record_refusal(call, reason, argument_checks.claims(caller))

    def recording(self, call: ToolCall, caller: Claims) -> AbstractContextManager[EndedCall]:
        """Return a context manager that records an action of a server for a client, such as writing a file."""
        return self._pipeline(self._options).recording(call, caller)

    def _pipeline(self, options: CallOptions) -> CallPipeline:
        return CallPipeline(options, self._called)

    def _select_engine(self, profile: Profile) -> EngineSelection:
        if isinstance(self._engine, str):
            return select(self._engine, profile)
        if reason := self._engine.unsupported_reason(profile):
            raise NoEngineError(reason)
        return selection_of(self._engine, profile)

    def _registered(self, name: str) -> RegisteredTool:
        """Return a tool that a caller may name. Raises ``UsageError``."""
        return self._read_result if self._read_result and name == READ_RESULT else self.registry.registered(name)

    def _called(self, name: str) -> RegisteredTool:
        """Return a tool that a caller may name, or a part that another tool calls. Raises ``UsageError``."""
        return self._read_result if self._read_result and name == READ_RESULT else self.registry.called(name)


def _stored_results(max_chars: int | None) -> tuple[ResultStore, RegisteredTool]:
    """Return a new store, and the tool that reads it in pages of at most ``max_chars``."""
    from toolc.client.read_result import read_result_tool  # lazy: +60 ms (the compiler); it is off by default
    from toolc.runtime.output.result_store import ResultStore  # lazy: as above

    store = ResultStore()
    return store, read_result_tool(store, max_chars)
