"""A tool of an executor for an agent framework, with its definition, its calls, and approval by the framework's user.

A framework that can ask its user before a call does so for tools with ``confirm: true``, unless the executor has its
own ``confirm``. Other frameworks rely on the executor's ``confirm``. Without it, such calls are denied.
"""

from __future__ import annotations

from toolc.client.executor import Executor
from toolc.dataclass import dataclass
from toolc.model.call import Allow, BoundCall, Confirm, Deny
from toolc.model.json_schema import JsonObject
from toolc.model.result import ToolResult
from toolc.model.spec.tool import ToolSpec
from toolc.providers.calls import members
from toolc.providers.json_schema.lowering import description
from toolc.runtime.execution.batch import new_call_id


@dataclass(frozen=True, slots=True)
class AdaptedTool:
    """A tool of an executor. ``definition`` is an entry of ``Executor.definitions``, which the model reads."""

    executor: Executor
    spec: ToolSpec
    definition: JsonObject

    @property
    def description(self) -> str:
        """Return the description with a short form of the result schema, because these frameworks do not send one."""
        return description(self.spec)

    @property
    def needs_approval(self) -> bool:
        """Whether the framework must ask its user before each call, because the executor cannot ask."""
        return self.spec.confirm and self.executor.confirm is None

    def run(self, arguments: JsonObject, *, call_id: str | None = None) -> ToolResult:
        """Call the tool and return its result."""
        return self.executor.run(self.spec.name, arguments, call_id=call_id)

    async def arun(self, arguments: JsonObject, *, call_id: str | None = None, is_approved: bool = False) -> ToolResult:
        """Call the tool and return its result. Cancelling the task cancels the call and waits for its sandbox.

        ``is_approved`` means that the framework's user approved this call, but not the calls that are part of it.
        """
        call_id = call_id or new_call_id()
        confirm = _approved(call_id) if is_approved and self.needs_approval else None
        return await self.executor.arun(self.spec.name, arguments, call_id=call_id, confirm=confirm)


def adapt(executor: Executor, provider: str) -> list[AdaptedTool]:
    """Return the executor's tools that are not denied, with their definitions for ``provider``, sorted by name.

    Raises ``UsageError`` if there are more tools than the provider accepts in one request.
    """
    definitions = executor.definitions(provider)
    if provider == "gemini":
        definitions = [each for value in definitions for each in members(value, "functionDeclarations")]
    return [
        AdaptedTool(executor, tool, definition)
        for tool, definition in zip(executor.tools, definitions, strict=True)
        if isinstance(definition, dict)
    ]


def object_of(definition: JsonObject, key: str) -> JsonObject:
    """Return the object under ``key`` of a definition, or an empty object."""
    value = definition.get(key)
    return value if isinstance(value, dict) else {}


def _approved(call_id: str) -> Confirm:
    """Return a function that allows only the call with this id."""

    def confirm(call: BoundCall) -> Allow | Deny:
        return Allow() if call.call_id == call_id else Deny("only the call that contains it was approved")

    return confirm
