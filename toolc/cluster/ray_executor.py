"""``RayExecutor`` has the methods of ``Executor`` and runs calls on the nodes of a Ray cluster.

The driver admits and confirms a call, which then runs entirely on one node. Ray never retries a call. If a node dies,
its running calls raise ``InfrastructureError``, because they may have run.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from pathlib import Path
from secrets import token_hex
from time import monotonic
from typing import Any, Self

from toolc.client.executor import CallableTools, Executor
from toolc.client.registry import Registry
from toolc.client.sandbox import Sandbox
from toolc.cluster.messages import Denials, Failed, NodeSetup, RemoteCall
from toolc.cluster.node_sandbox import NodeSandbox
from toolc.cluster.nodes import Nodes
from toolc.cluster.placement import Node
from toolc.cluster.ray_calls import NodeDiedError, asked, awaited, connect, followed
from toolc.cluster.workspace_copy import WorkspaceCopy, copied
from toolc.dataclass import dataclass, replace
from toolc.model.call import ApproveChanges, BoundCall, Confirm
from toolc.model.call_graph import called_tools
from toolc.model.errors import InfrastructureError, NoEngineError, UsageError
from toolc.model.events import ToolUpdate
from toolc.model.json_schema import JsonObject, JsonValue
from toolc.model.lock_file import Lock
from toolc.model.registry import RegisteredTool
from toolc.model.result import ToolResult, failure
from toolc.model.spec.policy import Policy
from toolc.runtime.call_details import Timing
from toolc.runtime.caller import CallContext, ignore_event
from toolc.runtime.cancellation import Cancellation, Deadline, InterruptedWaitError
from toolc.runtime.execution.call_pipeline import CallPipeline
from toolc.runtime.execution.single_call import Call
from toolc.runtime.pool.control import PoolReport
from toolc.runtime.sandboxed.interruption import NOT_STARTED
from toolc.runtime.sandboxed.options import CallOptions
from toolc.runtime.sessions.pool import IDLE_SECONDS
from toolc.runtime.workspace.mount import WorkspaceFolder


class RayExecutor(Executor):
    """Call a registry's tools on the nodes of a Ray cluster. These options differ from those of ``Executor``:

    - ``address``: the cluster, as for ``ray.init``. Leave it out after a call of ``ray.init`` and in a Ray job.
    - ``workspace``: its files are sent to the node of a call, and the changes of a transaction come back.
    - ``shared_workspace``: a folder at the same path on the driver and on each node, as on NFS. Tools use it, or a
      folder inside it that a call names, directly.
    - ``is_usable``: takes an entry of ``ray.nodes()`` and returns whether the node may run calls.

    Every node needs the same versions of toolc and Python. Secrets are looked up by name on the node of a call.
    """

    def __init__(  # noqa: PLR0913  one parameter per option
        self,
        registry: Registry,
        *,
        address: str | None = None,
        workspace: str | Path | None = None,
        shared_workspace: str | Path | None = None,
        engine: str | None = None,
        timeout: float | None = None,
        approve_changes: ApproveChanges | None = None,
        confirm: Confirm | None = None,
        session_idle: float = IDLE_SECONDS,
        lock: Lock | None = None,
        policy: Policy | None = None,
        is_usable: Callable[[Any], bool] = lambda _: True,
    ) -> None:
        super().__init__(
            registry, workspace=workspace or shared_workspace, timeout=timeout, approve_changes=approve_changes,
            confirm=confirm, lock=lock, policy=policy, pool=None,
        )  # fmt: skip
        connect(address)
        shared = Path(shared_workspace).resolve() if shared_workspace else None
        self._setup = NodeSetup(
            tools=_reviewed(registry), parts=registry.parts, engine=engine, timeout=timeout, session_idle=session_idle,
            lock=lock, policy=policy, shared_workspace=str(shared) if shared else None,
        )  # fmt: skip
        self._nodes = Nodes(self._setup, is_usable)
        self._cluster = _Cluster(self._nodes, shared)

    @property
    def max_parallel(self) -> int:
        """The number of calls that the nodes run at the same time. Waits until all present nodes are ready."""
        return max(1, sum(node.report.slots for node in self._nodes.settled()))

    @property
    def refused(self) -> tuple[str, ...]:
        """The nodes that run no calls, each with the reason."""
        return self._nodes.refused

    @property
    def nodes(self) -> tuple[Node, ...]:
        """The nodes that run calls now."""
        return tuple(self._nodes.alive)

    def pools(self) -> dict[str, tuple[PoolReport, ...]]:
        """Return the processes with warm sandboxes, by name of the node. They include those of other drivers."""
        pools: dict[str, tuple[PoolReport, ...]] = {}
        for node in self.nodes:
            with suppress(NodeDiedError):
                pools[node.name] = asked(node, "pools")
        return pools

    def sandbox(self, profile: str | JsonObject) -> Sandbox:
        """Like ``Executor.sandbox``, on one node. It ends with the node. Its workspace must be the shared one."""
        tool = self._registered(profile) if isinstance(profile, str) else None
        if tool and tool.spec.confirm:
            raise UsageError(
                f"the sandbox of {tool.spec.name}, which must be confirmed, needs an Executor of one machine"
            )
        sandbox = self._cluster.opened(tool.spec.name if tool else profile, tool.effect_digest if tool else "")
        self._sandboxes.add(sandbox)
        return sandbox

    def with_registry(self, registry: CallableTools, lock: Lock | None) -> Self:
        """Like ``Executor.with_registry``, on all nodes. Only this executor and the new one can make calls."""
        if not isinstance(registry, Registry):
            raise UsageError("the tools of a cluster must be a toolc.Registry")
        other = super().with_registry(registry, lock)
        setup = replace(self._setup, tools=_reviewed(registry), parts=registry.parts, lock=lock)
        vars(other).update(_setup=setup)
        self._nodes.update(setup)
        return other

    def end_session(self, session: str) -> None:
        """Close the sandboxes of the calls with this ``session`` on the node that has them."""
        with suppress(NodeDiedError):
            if node := self._nodes.end_session(session):
                asked(node, "end_session", session)  # waits, because Ray may run a later call before it

    def deny(self, *names: str, tags: Iterable[str] = ()) -> None:
        """Like ``Executor.deny``, on the driver and all nodes."""
        super().deny(*names, tags=tags)
        self._cluster.deny(*self._denials.entries)

    def allow(self, *names: str, tags: Iterable[str] = ()) -> None:
        """Like ``Executor.allow``, on the driver and all nodes."""
        super().allow(*names, tags=tags)
        self._cluster.deny(*self._denials.entries)

    def close(self) -> None:
        """Close the executors of all nodes. Wait up to 30 seconds for running calls, then end them."""
        self._nodes.close()
        super().close()

    def _pipeline(self, options: CallOptions) -> CallPipeline:
        return CallPipeline(options, self._called, make=partial(_ClusterCall, cluster=self._cluster))


def _reviewed(registry: Registry) -> tuple[RegisteredTool, ...]:
    """Return the tools that nodes can run: all except the functions of this program."""
    return tuple(tool for name in registry.names if not (tool := registry.registered(name)).is_host_defined)


class _Cluster:
    """The nodes, the workspace shared with the driver, and the driver's deny-list."""

    def __init__(self, nodes: Nodes, shared: Path | None) -> None:
        self.nodes = nodes
        self.denials = Denials()
        self._shared = shared
        self._seeing: set[str] = set()

    def deny(self, names: frozenset[str], tags: frozenset[str]) -> None:
        """Send the deny-list to all nodes. For nodes that join later, each call carries it as well."""
        self.denials = Denials(number=self.denials.number + 1, names=names, tags=tags)
        for node in self.nodes.alive:
            node.actor.deny.remote(self.denials)

    def shared_path(self, folder: WorkspaceFolder | None) -> str | None:
        """Return the path of a workspace on every node, or None if the nodes do not share it."""
        is_shared = folder and self._shared and folder.real.is_relative_to(self._shared)
        return str(folder.real) if folder and is_shared else None

    def opened(self, profile: str | JsonObject, effect_digest: str) -> Sandbox:
        """Open a sandbox on the first node that can run it."""
        key, need = token_hex(8), effect_digest or json.dumps(profile)
        with Cancellation() as cancellation:
            while True:
                with self.nodes.lease(need, Deadline(cancellation, math.inf), "") as node:
                    self.check_sees(node)
                    details = asked(node, "open_sandbox", key, profile, effect_digest, self.denials)
                    if not isinstance(details, Failed):
                        return NodeSandbox(node, key, details)
                    raise details.error()

    def check_sees(self, node: Node) -> None:
        """Raise ``InfrastructureError`` if a node does not see the shared workspace."""
        if self._shared is None or node.id in self._seeing:
            return
        nonce = self._shared / f".toolc-{token_hex(16)}"
        content = token_hex(16)
        try:
            nonce.write_text(content, "utf-8")
            if not asked(node, "sees", str(self._shared), nonce.name, content):
                raise NoEngineError(f"the node does not see the shared workspace {self._shared}")
        finally:
            nonce.unlink(missing_ok=True)
        self._seeing.add(node.id)


@dataclass(frozen=True, slots=True, kw_only=True)
class _ClusterCall(Call):
    """A call that runs on a node. If the spec has ``retry``, the node makes the further attempts."""

    cluster: _Cluster

    def result(self) -> ToolResult:
        """Run the call as ``Call`` does, but without retries on the driver."""
        spec = self.tool.spec
        if self.tool.is_host_defined:
            raise UsageError(f"the tool {spec.name} is a function of this program, which the nodes do not have")
        here = replace(self, tool=replace(self.tool, spec=replace(spec, retry=None))) if spec.retry else self
        return super(_ClusterCall, here).result()

    def _without_backend(self) -> ToolResult | None:
        return None

    def _prepared(self, arguments: JsonValue, timing: Timing) -> _Attempt:
        return _Attempt(self._bound(arguments, timing), self.tool, self.options, self.cluster)


@dataclass(frozen=True, slots=True)
class _Attempt:
    """A call with valid arguments that runs on a node."""

    bound: BoundCall
    tool: RegisteredTool
    options: CallOptions
    cluster: _Cluster

    def run(self, context: CallContext, limit_ms: int) -> ToolResult:
        """Run the call on one node. Raises ``InfrastructureError`` if the node dies or no node can run the call."""
        spec, folder = self.tool.spec, self.options.workspace
        path = self.cluster.shared_path(folder)
        if spec.sandbox.workspace == "none":
            return self._placed(context, limit_ms, path if called_tools(spec) else None, None)
        if path:
            return self._placed(context, limit_ms, path, None)
        if folder is None:
            raise UsageError(f"the tool {spec.name} needs a workspace; pass RayExecutor(..., workspace='DIR')")
        with copied(spec, self.bound.call_id, folder) as copy:
            return self._placed(context, limit_ms, None, copy)

    def _placed(self, context: CallContext, limit_ms: int, path: str | None, copy: WorkspaceCopy | None) -> ToolResult:
        """Run the call on the first node that can run it, with a shared workspace or a copy of one."""
        spec, digest, nodes = self.tool.spec, self.tool.effect_digest, self.cluster.nodes
        session = self.options.session or (digest if spec.sandbox.lifetime == "session" else "")
        while True:
            try:
                with nodes.lease(digest, Deadline(context.cancellation, context.deadline), session) as node:
                    call = RemoteCall(
                        name=spec.name, effect_digest=digest, arguments=self.bound.sent,
                        call_id=self.bound.call_id, workspace=path, has_copy=copy is not None,
                        timeout=min(limit_ms / 1000, max(0.001, context.deadline - monotonic())),
                        session=self.options.session, is_confirmed=spec.confirm, calls_others=bool(called_tools(spec)),
                        denials=self.cluster.denials, claims=context.claims,
                    )  # fmt: skip
                    if path:
                        self.cluster.check_sees(node)
                    if copy:
                        return self._ran_in_copy(node, call, context, copy)
                    return self._ran(node, call, context)
            except InterruptedWaitError as interruption:
                if interruption.reason == "cancelled":
                    return failure("cancelled", "the call was cancelled before it started")
                return failure("timeout", NOT_STARTED)

    def _ran_in_copy(self, node: Node, call: RemoteCall, context: CallContext, copy: WorkspaceCopy) -> ToolResult:
        """Send the workspace to the node, run the call there, and commit or refuse its changes on the driver."""
        try:
            missing, sent = asked(node, "expect", call.key, copy.files), 0
            for message in copy.messages(missing):
                asked(node, "store", message)
                sent += len(message)
                progress = f"{sent} of {len(missing)} files of the workspace are on {node.name}"
                percent = 100 * sent / len(missing)
                context.on_event(ToolUpdate(name=call.name, call_id=call.call_id, percent=percent, message=progress))
            result = self._ran(node, call, context)
            changed = result.details.get("changes")
            if not (isinstance(changed, dict) and changed.get("committed")):
                return result
            try:
                changes = asked(node, "changes", call.key)
            except NodeDiedError:
                raise self._died(node, "after", "its changes are lost") from None
            if isinstance(changes, Failed):
                raise changes.error()
            return copy.finish(result, changes, self.options.approve_changes)
        finally:
            node.actor.end_copy.remote(call.key)

    def _died(self, node: Node, when: str, outcome: str) -> InfrastructureError:
        self.cluster.nodes.has_died(node)
        return InfrastructureError(
            f"the node {node.name} died {when} it ran a call of {self.tool.spec.name}, so {outcome}"
        )

    def _ran(self, node: Node, call: RemoteCall, context: CallContext) -> ToolResult:
        try:
            if context.on_event is ignore_event:
                outcome = awaited(node, call, context.cancellation)
            else:
                outcome = followed(node, call, context.on_event, context.cancellation)
        except NodeDiedError:
            raise self._died(node, "while", "the call may have run") from None
        if isinstance(outcome, Failed):
            error = outcome.error()  # for a NoEngineError, the caller adds the name
            raise error if isinstance(error, NoEngineError) else type(error)(f"on the node {node.name}: {error}")
        return replace(outcome, details=outcome.details | {"node": node.name})
