"""Calls of one registry's tools.

What the caller or the tool did wrong ends as a ``ToolResult`` with ``is_error``: bad arguments before
anything started, a failure of the tool, a limit that ended it. What *we* could not do (no engine, a
sandbox that would not start or died) is raised as ``InfrastructureError`` and cannot be mistaken for a
tool's output. Nothing here is shared between calls: any number of threads may execute at once.
The steps of a call are told in ``toolc.runtime.execution.single_call``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import TypeAlias

from toolc.model.call import ToolCall
from toolc.model.call_graph import MAX_DEPTH, called
from toolc.model.errors import UsageError
from toolc.model.events import Listener, ToolEnd
from toolc.model.json_schema import JsonValue
from toolc.model.registry import RegisteredTool
from toolc.model.result import ToolResult, failure
from toolc.model.spec.code_backends import ErrorKind, HostFunction
from toolc.model.spec.tool import ToolSpec
from toolc.policy.rules import refuse
from toolc.runtime.caller import CallContext, as_part, no_caller
from toolc.runtime.cancellation import Cancellation
from toolc.runtime.execution.admission import ReviewedTools, check_calls
from toolc.runtime.execution.single_call import Call
from toolc.runtime.output.truncation import READ_RESULT
from toolc.runtime.sandboxed.options import CallOptions

__all__ = [
    "CallPipeline",
    "execute",
]

Find: TypeAlias = Callable[[str], RegisteredTool]
"""The tool of a name or alias. Raises ``UsageError`` where there is none."""


def no_tools(name: str) -> RegisteredTool:
    """A ``Find`` that knows none."""
    raise UsageError(f"there is no tool {name!r}")


class CallPipeline:
    """Calls the tools that ``find`` finds; the ``Caller`` of ``owner`` where that is one which calls others."""

    def __init__(self, setting: CallOptions, find: Find = no_tools, owner: RegisteredTool | None = None) -> None:
        self._setting = setting
        self._find = find
        self._owner = owner

    def run(
        self, tool: RegisteredTool, call: ToolCall, context: CallContext, *, timeout_ms: int | None = None
    ) -> ToolResult:
        """Run ``call``; its events go to ``context.tell``, the last is its ``ToolEnd``.

        Raises ``UsageError`` (a workspace that is missing or refused, a tool that this version cannot run),
        ``RegistryError`` (it calls others than those it was reviewed with), ``LockError`` (it is not what was
        approved), ``PolicyError`` (a policy does not allow it) and ``InfrastructureError``.
        """
        if not self._is_own(tool.spec):
            self._check_approved(tool)
        if called(tool.spec):
            check_calls(tool, self._find)
        one = Call(
            tool=tool,
            call=call,
            setting=self._setting,
            context=context,
            caller=CallPipeline(self._setting, self._find, tool),
            timeout_ms=timeout_ms,
        )
        result = one.result()
        context.tell(ToolEnd(name=tool.spec.name, call_id=call.call_id, result=result))
        return result

    def named(self, call: ToolCall, context: CallContext, *, timeout_ms: int | None = None) -> ToolResult:
        """Run ``call`` of a tool that may not exist: then its result is of kind ``not_found``."""
        try:
            tool = self._find(call.name)
        except UsageError as error:
            return ignore_events(call, context, "not_found", str(error))
        return self.run(tool, call, context, timeout_ms=timeout_ms)

    def call(
        self, name: str, arguments: JsonValue, context: CallContext, *, step: str, timeout_ms: int | None = None
    ) -> ToolResult:
        """See ``toolc.runtime.caller.Caller``."""
        call = ToolCall(name=name, arguments=arguments, call_id=f"{context.call_id}.{step}")
        part = CallContext(
            call_id=call.call_id,
            tell=as_part(context),
            cancellation=context.cancellation,
            deadline=context.deadline,
            depth=context.depth + 1,
        )
        if part.depth >= MAX_DEPTH:
            message = (
                f"{name!r} was not called: calls stand in each other {MAX_DEPTH} deep here, and no deeper; "
                "have a tool further out call it"
            )
            return ignore_events(call, part, "execution", message)
        if (spec := self._found(name)) and not self._may_call(spec):
            message = f"{name!r} is a function of the host's process, which no compiled tool may call"
            return ignore_events(call, part, "denied", message)
        return self.named(call, part, timeout_ms=timeout_ms)

    def tools(self, names: Sequence[str]) -> tuple[ToolSpec, ...]:
        """See ``toolc.runtime.caller.Caller``."""
        found = (self._found(name) for name in names)
        return tuple(tool for tool in found if tool and self._may_call(tool) and not self._setting.denied(tool))

    def _check_approved(self, tool: RegisteredTool) -> None:
        """Raise ``LockError`` or ``PolicyError`` where the caller's lock or policy is against it."""
        lock, policy = self._setting.lock, self._setting.policy
        if lock is not None:
            lock.check(tool)
        if policy is not None:
            refuse(tool.spec, ReviewedTools(self._find), (policy,))

    def _may_call(self, tool: ToolSpec) -> bool:
        """Whether the owner may: a function of the program is called by the program's own tools alone."""
        is_the_hosts = isinstance(tool.backend, HostFunction) and not self._is_own(tool)
        return not is_the_hosts or (self._owner is not None and self._owner.is_of_this_program)

    def _is_own(self, tool: ToolSpec) -> bool:
        """Whether it is toolc's own, by which long results are read on."""
        is_named = self._setting.shelf is not None and tool.name == READ_RESULT
        return is_named and isinstance(tool.backend, HostFunction)

    def _found(self, name: str) -> ToolSpec | None:
        try:
            return self._find(name).spec
        except UsageError:
            return None


def execute(
    tool: RegisteredTool,
    call: ToolCall,
    setting: CallOptions,
    *,
    on_event: Listener | None = None,
    cancellation: Cancellation | None = None,
    find: Find = no_tools,
) -> ToolResult:
    """Run ``call``, which stands in no other. Raises what ``Calls.run`` raises."""
    with nullcontext(cancellation) if cancellation else Cancellation() as given:
        context = CallContext(
            call_id=call.call_id, tell=on_event or no_caller, cancellation=given, deadline=math.inf
        )
        return CallPipeline(setting, find).run(tool, call, context)


def ignore_events(call: ToolCall, context: CallContext, kind: ErrorKind, message: str) -> ToolResult:
    """The result of a call that no tool has heard of, told as its end."""
    result = failure(kind, message, {"call_id": call.call_id})
    context.tell(ToolEnd(name=call.name, call_id=call.call_id, result=result))
    return result
