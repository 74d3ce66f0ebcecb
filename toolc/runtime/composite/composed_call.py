"""Run a call whose backend makes further calls. The call has no sandbox, but its parts have their own."""

from time import monotonic
from typing import Any

from toolc.dataclass import dataclass, replace
from toolc.model.call import BoundCall
from toolc.model.registry import RegisteredTool
from toolc.model.result import ToolResult
from toolc.model.spec.sandbox import SandboxSpec
from toolc.model.spec.tool import ResultSpec
from toolc.runtime.call_details import Timing, coerced, identity
from toolc.runtime.caller import CallContext, Caller, ComposedBackend, ignore_event
from toolc.runtime.http.message import guest_libraries
from toolc.runtime.output.shown_result import show_result
from toolc.runtime.output.truncation import fit_result
from toolc.runtime.result_validation import validate_result
from toolc.runtime.sandboxed.call import SandboxedCall
from toolc.runtime.sandboxed.options import CallOptions
from toolc.runtime.sandboxed.shaping import ENTRY, arguments, with_shaped_text
from toolc.runtime.secrets.redaction import CallSecrets, redact_result, secrets_of


def shape_result(
    tool: RegisteredTool, call: BoundCall, result: ToolResult, options: CallOptions, context: CallContext
) -> ToolResult:
    """Shape ``result`` as the spec says. Errors stay unchanged. Raises ``InfrastructureError``."""
    shape = tool.spec.result
    if result.is_error or (shape.select is None and shape.template is None):
        return result
    limits = tool.spec.sandbox.limits
    guest_files = guest_libraries(shape)
    spec = replace(
        tool.spec,
        backend=replace(ENTRY, files=(*ENTRY.files, *guest_files)),
        result=ResultSpec(),
        result_schema=None,
        sandbox=SandboxSpec(limits=limits),
    )
    shaping = replace(call, tool=spec, arguments=arguments(call, result, limits.output_bytes))
    prepared = SandboxedCall.prepare(replace(tool, spec=spec), shaping, options, Timing())
    shaped = prepared.run(replace(context, on_event=ignore_event), limits.timeout_ms)
    if shaped.error is not None:
        return replace(shaped, details=result.details)
    return with_shaped_text(result, shaped)


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
    ) -> "ComposedCall":
        """Resolve the tool's secrets. Nothing starts yet. Raises ``UsageError`` with the secrets that have no value."""
        secrets = secrets_of(tool.spec, options.reveal)
        return cls(tool=tool, bound=bound, backend=backend, secrets=secrets, caller=caller, options=options)

    def run(self, context: CallContext, timeout_ms: int) -> ToolResult:
        """Run the call and return its result after all parts have ended. Raises the errors of its parts."""
        spec, began, redactor = self.tool.spec, monotonic(), self.secrets.redactor
        deadline = min(context.deadline, began + timeout_ms / 1000)
        inner = replace(context, deadline=deadline, secrets=self.secrets)
        with redactor.errors():
            result = self.backend.run(spec.backend, self.bound, inner, self.caller)
            result = show_result(shape_result(self.tool, self.bound, result, self.options, inner), spec)
        if spec.result_schema:
            result = validate_result(result, spec.result_schema, spec.name, until=deadline)
        details = result.details | identity(self.tool, self.bound.call_id) | coerced(self.bound)
        details["duration_ms"] = round((monotonic() - began) * 1000, 3)
        result = redact_result(replace(result, details=details), redactor)
        store = self.options.result_store.add if self.options.result_store else None
        return fit_result(result, spec, store, self.options.served_chars)
