"""Run a call whose backend makes further calls. It has no sandbox; its parts have their own."""

from __future__ import annotations

from dataclasses import dataclass, replace
from time import monotonic
from typing import Any

from toolc.model.call import BoundCall
from toolc.model.http_plan import ResponseHandling
from toolc.model.registry import RegisteredTool
from toolc.model.result import Text, ToolResult
from toolc.model.spec.sandbox import SandboxSpec
from toolc.model.spec.tool import ResultSpec
from toolc.runtime.call_durations import Timing, identity
from toolc.runtime.caller import CallContext, Caller, ComposedBackend, no_caller
from toolc.runtime.http.message import libraries
from toolc.runtime.output.truncation import fit_to_limit
from toolc.runtime.sandboxed.call import ENTRY, SandboxedCall, arguments
from toolc.runtime.sandboxed.options import CallOptions
from toolc.runtime.secrets.redaction import CallSecrets, redact_result, secrets_of
from toolc.runtime.validation import as_promised


def in_words(
    tool: RegisteredTool, call: BoundCall, result: ToolResult, options: CallOptions, context: CallContext
) -> ToolResult:
    """Return ``result`` shaped as the spec requires. Errors, and results without a shape, are unchanged.

    Raises ``InfrastructureError``.
    """
    wanted = tool.spec.result
    if result.is_error or (wanted.select is None and wanted.template is None):
        return result
    limits = tool.spec.sandbox.limits
    brought = libraries(ResponseHandling(select=wanted.select, template=wanted.template))
    spec = replace(
        tool.spec,
        backend=replace(ENTRY, files=(*ENTRY.files, *brought)),
        result=ResultSpec(),
        result_schema=None,
        sandbox=SandboxSpec(limits=limits),
    )
    told = replace(call, tool=spec, arguments=arguments(call, result, limits.output_bytes))
    shaper = SandboxedCall.prepare(replace(tool, spec=spec), told, options, Timing())
    made = shaper.run(replace(context, on_event=no_caller), limits.timeout_ms)
    if made.error is not None:
        return replace(made, details=result.details)
    others = tuple(block for block in result.content if not isinstance(block, Text))
    return replace(result, content=made.content + others, structured=made.structured)


@dataclass(frozen=True, slots=True, kw_only=True)
class ComposedCall:
    """One attempt of a composed call, ready to start."""

    tool: RegisteredTool
    bound: BoundCall
    backend: ComposedBackend[Any]  # for the kind of the tool
    secrets: CallSecrets
    caller: Caller
    options: CallOptions

    @classmethod
    def prepare(
        cls, tool: RegisteredTool, bound: BoundCall, options: CallOptions, backend: ComposedBackend[Any], caller: Caller
    ) -> ComposedCall:
        """Resolve the tool's secrets. Nothing starts. Raises ``UsageError`` that names those without a value."""
        secrets = secrets_of(tool.spec, options.reveal)
        return cls(tool=tool, bound=bound, backend=backend, secrets=secrets, caller=caller, options=options)

    def run(self, context: CallContext, timeout_ms: int) -> ToolResult:
        """Run the call and return its result after all parts have ended. Raises what its parts raise."""
        spec, began, redactor = self.tool.spec, monotonic(), self.secrets.redactor
        deadline = min(context.deadline, began + timeout_ms / 1000)
        own = replace(context, deadline=deadline, secrets=self.secrets)
        with redactor.errors():
            result = self.backend.run(spec.backend, self.bound, own, self.caller)
            result = in_words(self.tool, self.bound, result, self.options, own)
        result = as_promised(result, spec)
        details = result.details | identity(self.tool, self.bound.call_id)
        details["duration_ms"] = round((monotonic() - began) * 1000, 3)
        result = redact_result(replace(result, details=details), redactor)
        store = self.options.result_store.add if self.options.result_store else None
        return fit_to_limit(result, spec.sandbox.limits.output_bytes, store)
