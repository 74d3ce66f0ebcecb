"""Call the tools of one registry.

An error of the caller or the tool (invalid arguments, a failure of the tool, an exceeded limit) gives a ``ToolResult``
with ``is_error``. An error of toolc or its environment (no engine, a sandbox that did not start or died) raises
``InfrastructureError``, so it cannot be confused with a tool's output. Calls share no state, so any number of threads
may run calls in parallel. For the steps of a call, see ``toolc.runtime.execution.single_call``.
"""

import math
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from time import monotonic
from typing import TypeAlias

from toolc.model.call import Claims, ToolCall
from toolc.model.call_graph import MAX_DEPTH
from toolc.model.errors import UsageError, raise_shortage
from toolc.model.events import ToolEnd
from toolc.model.json_schema import JsonValue
from toolc.model.registry import RegisteredTool
from toolc.model.result import ToolResult, failure
from toolc.model.spec.code_backends import ErrorKind, HostFunction
from toolc.model.spec.tool import ToolSpec
from toolc.runtime.caller import CallContext, as_part, one_at_a_time
from toolc.runtime.execution.admission import check_admission
from toolc.runtime.execution.batch import Order, run_batch
from toolc.runtime.execution.single_call import Call
from toolc.runtime.output.truncation import READ_RESULT
from toolc.runtime.sandboxed.options import CallOptions
from toolc.sandbox.selection import in_use
from toolc.telemetry.observation import EndedCall, StartedCall, observed, record_refusal, recording

Find: TypeAlias = Callable[[str], RegisteredTool]
"""Returns the tool with a name or alias. Raises ``UsageError`` if there is none."""


def no_tools(name: str) -> RegisteredTool:
    """Raise ``UsageError`` for every name. This is a ``Find`` without tools."""
    raise UsageError(f"there is no tool {name!r:.82}; run the call through a registry that contains it")


class CallPipeline:
    """Calls the tools that ``find`` returns. If the tool ``owner`` calls others, this is its ``Caller``.

    ``make`` creates a call: the class ``Call``, or a class whose calls run elsewhere.
    """

    def __init__(
        self,
        options: CallOptions,
        find: Find = no_tools,
        owner: RegisteredTool | None = None,
        make: Callable[..., Call] = Call,
    ) -> None:
        self._options = options
        self._make = make
        self._find = find
        self._owner = owner

    def run(
        self, tool: RegisteredTool, call: ToolCall, context: CallContext, *, timeout_ms: int | None = None
    ) -> ToolResult:
        """Run ``call``. Its events go to ``context.on_event``. The last one is its ``ToolEnd``.

        Raises ``UsageError`` (a workspace is missing or refused, or this version cannot run the tool),
        ``RegistryError`` (the tool calls other tools than it was reviewed with), ``LockError`` (this version of the
        tool is not approved), ``PolicyError`` (a policy forbids it) and ``InfrastructureError``.
        """
        with observed(self._options.observers, self._started(tool, call, context.claims, context.depth)) as ended:
            confirm = recording(self._options.confirm, ended)
            options = replace(self._options, confirm=confirm) if confirm else self._options
            result = ended.result = self._admitted(tool, call, context, options, timeout_ms)
        context.on_event(ToolEnd(name=tool.spec.name, call_id=call.call_id, result=result))
        return result

    def _admitted(
        self, tool: RegisteredTool, call: ToolCall, context: CallContext, options: CallOptions, timeout_ms: int | None
    ) -> ToolResult:
        lock, policy = options.lock, options.policy
        if self._reads_results(tool.spec):
            lock = policy = None
        check_admission(tool, self._find, lock, policy)
        caller = CallPipeline(self._options, self._find, tool)
        try:
            return self._make(
                tool=tool, call=call, options=options, context=context, caller=caller, timeout_ms=timeout_ms
            ).result()
        except (OSError, ImportError) as error:
            raise_shortage(error)
            raise

    def named(self, call: ToolCall, context: CallContext, *, timeout_ms: int | None = None) -> ToolResult:
        """Run ``call`` on the tool that it names. An unknown tool gives a result of kind ``not_found``."""
        try:
            tool = self._find(call.name)
        except UsageError as error:
            return self.reject(call, context, "not_found", str(error))
        return self.run(tool, call, context, timeout_ms=timeout_ms)

    def batch(
        self, calls: Sequence[ToolCall], order: Order, context: CallContext, timeout: float | None
    ) -> list[ToolResult]:
        """Run ``calls``, which have unique ids, as parts of ``context`` within ``timeout`` seconds for all together.

        Returns all results in the order of the calls. Raises ``BatchError`` if calls could not be made.
        """
        deadline = math.inf if timeout is None else monotonic() + timeout
        with in_use(), context.cancellation.child() as child:
            each = replace(context, on_event=one_at_a_time(context.on_event), cancellation=child, deadline=deadline)

            def make(call: ToolCall) -> ToolResult:
                return self.named(call, replace(each, call_id=call.call_id))

            def skip(call: ToolCall, reason: str) -> ToolResult:
                message = f"the call was skipped: {reason}"
                return self.reject(call, replace(each, call_id=call.call_id), "cancelled", message)

            return run_batch(calls, make, order, child, skip)

    def call(
        self, name: str, arguments: JsonValue, context: CallContext, *, step: str, timeout_ms: int | None = None
    ) -> ToolResult:
        """Call a tool as a part of ``context``. See ``toolc.runtime.caller.Caller``."""
        call = ToolCall(name=name, arguments=arguments, call_id=f"{context.call_id}.{step}")
        part = CallContext(
            call_id=call.call_id,
            on_event=as_part(context),
            cancellation=context.cancellation,
            deadline=context.deadline,
            depth=context.depth + 1,
            claims=context.claims,
        )
        if part.depth >= MAX_DEPTH:
            message = (
                f"{name!r} was not called; calls can be nested at most {MAX_DEPTH} deep; call it from an outer tool"
            )
            return self.reject(call, part, "execution", message)
        if (tool := self._found(name)) and not self._may_call(tool.spec):
            message = f"{name!r} is a function of the host process, which compiled tools may not call"
            return self.reject(call, part, "denied", message)
        return self.named(call, part, timeout_ms=timeout_ms)

    def tools(self, names: Sequence[str]) -> tuple[ToolSpec, ...]:
        """Return the tools that may be called. See ``toolc.runtime.caller.Caller``."""
        found = (tool.spec for name in names if (tool := self._found(name)))
        return tuple(tool for tool in found if self._may_call(tool) and not self._options.denied(tool))

    def _may_call(self, tool: ToolSpec) -> bool:
        """Return whether the owner may call ``tool``. Only tools of this program may call its functions."""
        if not isinstance(tool.backend, HostFunction) or self._reads_results(tool):
            return True
        return self._owner is not None and self._owner.is_host_defined

    def _reads_results(self, tool: ToolSpec) -> bool:
        """Return whether ``tool`` is toolc's own ``read_result``, which reads stored results."""
        has_name = self._options.result_store is not None and tool.name == READ_RESULT
        return has_name and isinstance(tool.backend, HostFunction)

    def _found(self, name: str) -> RegisteredTool | None:
        try:
            return self._find(name)
        except UsageError:
            return None

    def reject(self, call: ToolCall, context: CallContext, kind: ErrorKind, message: str) -> ToolResult:
        """Return an error result for a call that does not reach a tool, record it, and emit its ``ToolEnd``."""
        self.record_refusal(call, kind, context.claims, context.depth)
        result = failure(kind, message, {"call_id": call.call_id})
        context.on_event(ToolEnd(name=call.name, call_id=call.call_id, result=result))
        return result

    def record_refusal(self, call: ToolCall, reason: str, claims: Claims, depth: int = 0) -> None:
        """Let the observers record a call that does not reach a tool."""
        record_refusal(self._options.observers, self._started(self._found(call.name), call, claims, depth), reason)

    def recording(self, call: ToolCall, claims: Claims) -> AbstractContextManager[EndedCall]:
        """Return a block that the observers record as a call without a tool."""
        return observed(self._options.observers, self._started(None, call, claims, 0))

    def _started(self, tool: RegisteredTool | None, call: ToolCall, claims: Claims, depth: int) -> StartedCall:
        client, subject = self._options.client, claims.get("sub", "")
        return StartedCall(tool=tool, call=call, client=client, subject=subject, depth=depth)
