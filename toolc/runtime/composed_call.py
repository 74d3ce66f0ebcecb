"""A call that makes calls: it has no sandbox, and its parts have theirs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from time import monotonic
from typing import Any

from toolc.model.call import BoundCall
from toolc.model.registry import RegisteredTool
from toolc.model.result import ToolResult
from toolc.runtime.caller import CallContext, Caller, ComposedBackend
from toolc.runtime.composed_shape import in_words
from toolc.runtime.measured import identity
from toolc.runtime.oversized import fitted
from toolc.runtime.result_schema import as_promised
from toolc.runtime.secrets import CallSecrets, redacted, secrets_of
from toolc.runtime.setting import Setting


@dataclass(frozen=True, slots=True, kw_only=True)
class ComposedCall:
    """One attempt of such a call, ready to start."""

    tool: RegisteredTool
    bound: BoundCall
    backend: ComposedBackend[Any]  # the one of the tool's own kind
    secrets: CallSecrets
    caller: Caller
    setting: Setting

    @classmethod
    def prepare(
        cls,
        tool: RegisteredTool,
        bound: BoundCall,
        setting: Setting,
        backend: ComposedBackend[Any],
        caller: Caller,
    ) -> ComposedCall:
        """Find the tool's own secrets; nothing starts. Raises ``UsageError`` that names those without a value."""
        secrets = secrets_of(tool.spec, setting.reveal)
        return cls(tool=tool, bound=bound, backend=backend, secrets=secrets, caller=caller, setting=setting)

    def run(self, context: CallContext, timeout_ms: int) -> ToolResult:
        """The result, once no part of the call runs any more. Raises what its parts raise."""
        spec, began, redactor = self.tool.spec, monotonic(), self.secrets.redactor
        deadline = min(context.deadline, began + timeout_ms / 1000)
        own = replace(context, deadline=deadline, secrets=self.secrets)
        with redactor.errors():
            result = self.backend.run(spec.backend, self.bound, own, self.caller)
            result = in_words(self.tool, self.bound, result, self.setting, own)
        result = as_promised(result, spec)
        details = result.details | identity(self.tool, self.bound.call_id)
        details["duration_ms"] = round((monotonic() - began) * 1000, 3)
        result = redacted(replace(result, details=details), redactor)
        keep = self.setting.shelf.keep if self.setting.shelf else None
        return fitted(result, spec.sandbox.limits.output_bytes, keep)
