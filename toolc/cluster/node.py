"""The actor of one node. It holds an ordinary ``Executor`` with its pool, and returns errors as values.

The actor is asynchronous, because Ray cannot cancel a running method of a synchronous actor. Ray would wrap an
exception of the actor in its own types, so ``Failed`` carries the type and the message.
"""

from __future__ import annotations

import logging
import pickle
from asyncio import create_task, get_running_loop, to_thread, wait
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing, contextmanager
from pathlib import Path
from typing import Any, Final

from toolc.client.executor import Executor
from toolc.client.sandbox import Sandbox
from toolc.cluster.messages import (
    CLOSED,
    MAX_CALLS,
    Denials,
    Failed,
    NodeEngine,
    NodeReport,
    NodeSetup,
    RemoteCall,
    versions,
)
from toolc.cluster.workspace_copy import Change, Files, NodeCopies
from toolc.dataclass import replace
from toolc.model.call import Allow, BoundCall, Deny, Proposal
from toolc.model.errors import InfrastructureError, NoEngineError, RegistryError, ToolcError
from toolc.model.events import Event, ToolStart
from toolc.model.json_schema import JsonObject
from toolc.model.names import ENGINES
from toolc.model.registry import RegisteredTool
from toolc.model.result import ToolResult
from toolc.runtime.cancellation import Cancellation
from toolc.runtime.execution.admission import check_admission
from toolc.runtime.execution.async_calls import async_events
from toolc.runtime.execution.batch import Order
from toolc.runtime.pool.control import PoolReport
from toolc.runtime.pool.control import reports as pool_reports
from toolc.runtime.sandboxed.options import profile_of, select_approved
from toolc.runtime.sessions.sandbox_session import Program
from toolc.sandbox.interface import unenforced
from toolc.sandbox.selection import load, probe, pull

LONG_SECONDS: Final = 1.0
"""How long getting an image may take before the driver receives a message."""

CONFIRM_STEP: Final = "a step of another tool cannot be confirmed on a cluster; call the tool itself"


class _NodeExecutor(Executor):
    """An executor with the deny-list of the driver, which has already checked the names."""

    def deny_only(self, names: frozenset[str], tags: frozenset[str]) -> None:
        """Replace the deny-list."""
        old_names, old_tags = self._denials.entries
        self._denials.deny(names, tags)
        self._denials.allow(old_names - names, old_tags - tags)

    def fetch_image(self, tool: RegisteredTool) -> str:
        """Get the image and packages of a tool. Return why this failed, or nothing if it may not run here."""
        sandbox = replace(tool.spec.sandbox, workspace="none", transaction=None)
        try:
            check_admission(tool, self._called, self._options.lock, self._options.policy)
            profile = profile_of(replace(tool.spec, sandbox=sandbox), self._options)
            if profile.image:
                self._select_engine(replace(profile, image=None))  # do not pull what cannot run here
                pull(profile.image)
            select_approved(tool.spec, profile, self._options).engine.content_digests(profile)
        except ToolcError as error:
            return str(error) if type(error) is InfrastructureError else ""
        return ""


class NodeActor:
    """Runs the calls of one driver on one node. Its methods may run concurrently."""

    def __init__(self, needed: Mapping[str, str], setup: bytes) -> None:
        self._refusal = "".join(
            f"it has {name} {versions()[name]}, and the driver has {version}; install the same version on all nodes. "
            for name, version in needed.items()
            if versions()[name] != version
        ).removesuffix(". ")
        self._executors: tuple[_NodeExecutor, ...] = ()  # of the present tools, and of those before an update
        self._tools: tuple[RegisteredTool, ...] = ()
        self._threads = ThreadPoolExecutor(MAX_CALLS, "toolc call")
        self._running: dict[str, Cancellation] = {}
        self._denials = Denials()
        self._copies: NodeCopies | None = None
        self._opened: dict[str, Sandbox | Program] = {}
        if not self._refusal:
            try:
                self._start(pickle.loads(setup))  # noqa: S301  from the driver, which may run any code on the node
            except ToolcError as error:
                self._refusal = str(error)

    def _start(self, setup: NodeSetup) -> None:
        executor = _NodeExecutor(
            setup.registry(), engine=setup.engine, timeout=setup.timeout, lock=setup.lock, policy=setup.policy,
            session_idle=setup.session_idle, approve_changes=self._approve, workspace=setup.shared_workspace,
        )  # fmt: skip
        self._executors = (executor,)
        self._tools = setup.all_tools()

    async def update(self, setup: bytes) -> None:
        """Replace the tools for later calls. Calls that are running or already sent keep the previous tools."""
        changed: NodeSetup = pickle.loads(setup)  # noqa: S301  as above
        for newest in self._executors[:1]:
            self._executors = (newest.with_registry(changed.registry(), changed.lock), newest)
            self._tools = changed.all_tools()

    async def fetch_images(self) -> AsyncIterator[tuple[int, str]]:
        """Get the images of all tools. Yield messages, with their levels, about slow and failed downloads."""
        for newest in self._executors[:1]:
            for tool in self._tools:
                image = f"the image of {tool.spec.name}"
                fetched = create_task(to_thread(newest.fetch_image, tool))
                is_slow = not (await wait([fetched], timeout=LONG_SECONDS))[0]
                if is_slow:
                    yield logging.INFO, f"is getting {image}"
                if problem := await fetched:
                    yield logging.WARNING, f"cannot get {image}: {problem}"
                elif is_slow:
                    yield logging.INFO, f"has {image}"

    def _approve(self, proposal: Proposal) -> bool:
        """Return whether the changes are in a copy, because the driver decides about such changes later."""
        return self._copies is not None and self._copies.contains(proposal.workspace)

    async def report(self) -> NodeReport:
        """Return the engines and the number of slots of this node, or the reason why it runs no calls."""
        if self._refusal:
            return NodeReport(refusal=self._refusal)
        engines = (_engine_report(name) for name in ENGINES if probe(name).available)
        return NodeReport(slots=Order().max_parallel, engines=tuple(engines))

    async def pools(self) -> tuple[PoolReport, ...]:
        """Return the warm sandboxes of each process of this user on this node."""
        return await to_thread(lambda: tuple(pool_reports()))

    async def sees(self, folder: str, name: str, content: str) -> bool:
        """Return whether this node can see a file that the driver wrote."""
        try:
            return Path(folder, name).read_text("utf-8") == content
        except (OSError, UnicodeDecodeError):
            return False

    async def expect(self, key: str, files: Files) -> list[str]:
        """Begin a call with a copy of the driver's workspace.

        Return the digests of the contents that the node lacks.
        """
        self._copies = self._copies or NodeCopies()
        return await to_thread(self._copies.expect, key, files)

    async def store(self, contents: tuple[bytes, ...]) -> None:
        """Store the file contents that ``expect`` asked for."""
        if self._copies:
            await to_thread(self._copies.store, contents)

    async def changes(self, key: str) -> tuple[Change, ...] | Failed:
        """Return the changes that a call made in its copy."""
        try:
            return await to_thread(self._copies.changes, key) if self._copies else ()
        except ToolcError as error:
            return _failed(error, has_started=True)

    async def end_copy(self, key: str) -> None:
        """Remove the copy of a call."""
        if self._copies:
            await to_thread(self._copies.end, key)

    async def run(self, call: bytes) -> bytes:
        """Run a pickled ``RemoteCall`` and return its pickled result. Ray itself would pickle both more slowly."""
        remote: RemoteCall = pickle.loads(call)  # noqa: S301  as above
        with self._cancellation(remote.key) as cancellation:  # here, so that an early ``cancel`` finds it
            outcome = await get_running_loop().run_in_executor(self._threads, self._run, remote, cancellation)
        return pickle.dumps(outcome)

    def _run(self, call: RemoteCall, cancellation: Cancellation) -> ToolResult | Failed:
        steps: list[Event] = []

        def notice(event: Event) -> None:
            if _starts_step(event):
                steps.append(event)

        try:
            executor = self._with_tool(call.name, call.effect_digest, call.denials)
            listener = notice if call.calls_others else None
            return executor.run(**self._arguments(call), cancellation=cancellation, on_event=listener)
        except ToolcError as error:
            return _failed(error, has_started=bool(steps))

    async def stream(self, call: RemoteCall) -> AsyncIterator[Event | Failed]:
        """Run a call, and yield its events. The last one is its ``ToolEnd``."""
        has_started = False
        try:
            with self._cancellation(call.key) as cancellation:
                executor = self._with_tool(call.name, call.effect_digest, call.denials)
                arguments = await to_thread(self._arguments, call)
                async with aclosing(executor.astream(**arguments, cancellation=cancellation)) as events:
                    async for event in events:
                        has_started = has_started or _starts_step(event)
                        yield event
        except ToolcError as error:
            yield _failed(error, has_started=has_started)

    def _with_tool(self, name: str, effect_digest: str, denials: Denials) -> Executor:
        """Return the executor. Raises ``RegistryError`` if the driver has a different version of the tool."""
        if not self._executors:
            raise InfrastructureError(self._refusal)
        self._deny(denials)
        for executor in self._executors:
            tools = executor.registry
            if not effect_digest or (name in tools and tools.registered(name).effect_digest == effect_digest):
                return executor
        raise RegistryError(f"the node has another version of the tool {name!r} than the driver")

    def _arguments(self, call: RemoteCall) -> dict[str, Any]:
        """Make the copy of the workspace, and return the arguments of ``Executor.arun``."""
        workspace = call.workspace
        if call.has_copy and self._copies:
            self._copies.make(call.key)
            workspace = self._copies.folder(call.key)

        def confirm(bound: BoundCall) -> Allow | Deny:
            return Allow() if call.is_confirmed and bound.call_id == call.call_id else Deny(CONFIRM_STEP)

        return {
            "name": call.name,
            "arguments": call.arguments,
            "call_id": call.call_id,
            "workspace": workspace,
            "timeout": call.timeout,
            "session": call.session,
            "confirm": confirm if call.is_confirmed or call.calls_others else None,
            "caller": call.claims,
        }

    @contextmanager
    def _cancellation(self, key: str) -> Iterator[Cancellation]:
        with Cancellation() as cancellation:
            self._running[key] = cancellation
            try:
                yield cancellation
            finally:
                del self._running[key]

    async def open_sandbox(
        self, key: str, profile: str | JsonObject, effect_digest: str, denials: Denials
    ) -> JsonObject | Failed:
        """Open a sandbox and return its details. ``effect_digest`` is empty for a profile that belongs to no tool."""
        try:
            executor = self._with_tool(str(profile), effect_digest, denials)
            self._opened[key] = sandbox = await executor.asandbox(profile)
        except ToolcError as error:
            return _failed(error, has_started=False)
        return sandbox.details

    async def use_sandbox(
        self, key: str, sandbox: str, method: str, arguments: tuple[object, ...], options: Mapping[str, object]
    ) -> object:
        """Call a method of an open sandbox. Return its answer or its error. ``cancel(key)`` cancels the call."""
        if sandbox not in self._opened:
            return CLOSED
        try:
            with self._cancellation(key) as cancellation:
                form = getattr(self._opened[sandbox], f"a{method}")
                return await form(*arguments, **options, cancellation=cancellation)
        except OSError as error:
            return error
        except ToolcError as error:
            return _failed(error, has_started=True)

    async def follow_output(
        self, key: str, opened: str, method: str, arguments: tuple[object, ...], options: Mapping[str, object]
    ) -> AsyncIterator[object]:
        """Like ``use_sandbox`` for ``exec`` and the ``wait`` of a program, but yield the output before the answer."""
        if opened not in self._opened:
            yield CLOSED
            return
        used = getattr(self._opened[opened], method)

        def call(put: Callable[[Any], None], cancellation: Cancellation) -> object:
            return used(*arguments, **options, on_output=lambda *piece: put(piece), cancellation=cancellation)

        try:
            with self._cancellation(key) as cancellation:
                async with aclosing(async_events(call, None, cancellation, lambda end: (end,))) as items:
                    async for item in items:
                        yield item
        except OSError as error:
            yield error
        except ToolcError as error:
            yield _failed(error, has_started=True)
        if method == "wait":
            self._opened.pop(opened, None)

    async def start_program(
        self, key: str, sandbox: str, argv: Sequence[str], options: Mapping[str, Any]
    ) -> Failed | None:
        """Start a program in an open sandbox."""
        opened = self._opened.get(sandbox)
        if not isinstance(opened, Sandbox):
            return CLOSED
        try:
            self._opened[key] = await to_thread(opened.start, argv, **options)
        except ToolcError as error:
            return _failed(error, has_started=False)
        return None

    async def steer_program(
        self, key: str, method: str, arguments: tuple[object, ...], options: Mapping[str, object]
    ) -> int | Failed:
        """Call ``write``, ``resize`` or ``kill`` of a program, if it runs. Return the size of its unsent input."""
        program = self._opened.get(key)
        if not isinstance(program, Program):  # no effect, as on a program that has ended
            return 0
        try:
            await to_thread(getattr(program, method), *arguments, **options)
        except ToolcError as error:
            return _failed(error, has_started=True)
        return program.unsent_bytes

    async def end_sandbox(self, key: str, programs: Iterable[str]) -> None:
        """Close an open sandbox and its programs."""
        for each in programs:
            self._opened.pop(each, None)
        if isinstance(sandbox := self._opened.pop(key, None), Sandbox):
            await sandbox.aclose()

    async def cancel(self, key: str) -> None:
        """Cancel a running call, which then ends with a result."""
        if cancellation := self._running.get(key):
            cancellation.cancel()

    async def deny(self, denials: Denials) -> None:
        """Deny calls, including the remaining steps of running calls."""
        self._deny(denials)

    def _deny(self, denials: Denials) -> None:
        if denials.number > self._denials.number:
            self._denials = denials
            for executor in self._executors[:1]:  # all have the same deny-list
                executor.deny_only(denials.names, denials.tags)

    async def end_session(self, session: str) -> None:
        """Close the sandboxes of a session."""
        for executor in self._executors[:1]:
            executor.end_session(session)

    async def close(self) -> None:
        """Close the executor."""
        for executor in self._executors[:1]:
            executor.close()
        if self._copies:
            self._copies.close()


def _engine_report(name: str) -> NodeEngine:
    offered = load(name).capabilities()
    return NodeEngine(
        name=name, version=probe(name).version, isolation=tuple(each.isolation for each in offered),
        weak=tuple(sorted({limit for each in offered for limit in unenforced(each)})),
    )  # fmt: skip


def _starts_step(event: Event) -> bool:
    """Return whether the event is the start of a step. The engine of the call itself was chosen before that."""
    return isinstance(event, ToolStart) and event.parent_call_id is not None


def _failed(error: ToolcError, *, has_started: bool) -> Failed:
    """Return an error as a value. After a call has started, the driver must not send it to another node."""
    if has_started and isinstance(error, NoEngineError):
        return Failed("InfrastructureError", f"a step cannot run on this node, and other steps may have run: {error}")
    return Failed(type(error).__name__, str(error))
