"""``result.select`` and ``result.template`` of a tool whose calls make calls, in a sandbox of their own.

What its parts wrote is as little trusted as what any tool writes. See ``toolc.runtime.shaping``, which does the
same for a tool that runs in a sandbox.
"""

from __future__ import annotations

from dataclasses import replace

from toolc.model.call import BoundCall
from toolc.model.http_plan import Reading
from toolc.model.registry import RegisteredTool
from toolc.model.result import Text, ToolResult
from toolc.model.spec.sandbox import SandboxSpec
from toolc.model.spec.tool import ResultSpec
from toolc.runtime.caller import CallContext, nobody
from toolc.runtime.http_message import libraries
from toolc.runtime.sandboxed import SandboxedCall
from toolc.runtime.setting import Setting
from toolc.runtime.shaping import ENTRY, arguments
from toolc.runtime.timing import Timing


def in_words(
    tool: RegisteredTool, call: BoundCall, result: ToolResult, setting: Setting, context: CallContext
) -> ToolResult:
    """``result`` as the spec wants it: itself where it wants nothing else, and every error.

    Raises ``InfrastructureError``.
    """
    wanted = tool.spec.result
    if result.is_error or (wanted.select is None and wanted.template is None):
        return result
    limits = tool.spec.sandbox.limits
    brought = libraries(Reading(select=wanted.select, template=wanted.template))
    spec = replace(
        tool.spec,
        backend=replace(ENTRY, files=(*ENTRY.files, *brought)),
        result=ResultSpec(),
        result_schema=None,
        sandbox=SandboxSpec(limits=limits),
    )
    told = replace(call, tool=spec, arguments=arguments(call, result, limits.output_bytes))
    shaper = SandboxedCall.prepare(replace(tool, spec=spec), told, setting, Timing())
    made = shaper.run(replace(context, tell=nobody), limits.timeout_ms)
    if made.error is not None:
        return replace(made, details=result.details)
    others = tuple(block for block in result.content if not isinstance(block, Text))
    return replace(result, content=made.content + others, structured=made.structured)
