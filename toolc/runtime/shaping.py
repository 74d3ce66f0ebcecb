"""``result.select`` and ``result.template`` of tools that run code: one more sandbox puts the result into words.

What a tool returned is as little trusted as what a server says: JMESPath and Jinja2 work on it under the tool's own
limits, in a sandbox of its image with no folder, network or secret. An HTTP tool's guest does the same by itself.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from toolc.backends.python import Python
from toolc.model.call import BoundCall
from toolc.model.http_plan import Reading
from toolc.model.json_schema import JsonObject
from toolc.model.plan import LoopbackProxy, Plan, Profile, PythonCall
from toolc.model.result import Outcome, Text, ToolResult, failure
from toolc.model.spec.code_backends import File, PythonBackend, ShellBackend
from toolc.model.spec.http_backend import HttpBackend
from toolc.model.spec.tool import ResultSpec
from toolc.runtime.http_message import libraries

ENTRY: Final = PythonBackend(
    entry="shape.py",
    function="shape",
    files=(File(path="shape.py", text="from toolc.guest.http.shaping import shape\n"),),
)
"""The function that is called: the guest's own."""


def shaping(call: BoundCall, profile: Profile, result: ToolResult, outcome: Outcome) -> Plan | None:
    """The call that shapes ``result``; None where it stays as it is, as every error does."""
    wanted, backend = call.tool.result, call.tool.backend
    if isinstance(backend, HttpBackend) or (wanted.select is None and wanted.template is None):
        return None
    # With ``success_exit_codes: any`` a failure is no error, and no data either.
    is_failure = isinstance(backend, ShellBackend) and backend.success_exit_codes is None and outcome.status != 0
    if result.is_error or is_failure:
        return None
    return Plan(
        profile=replace(profile, workspace=None, loopback=LoopbackProxy(), requirements=()),
        invocation=PythonCall(
            entry=ENTRY.entry,
            function=ENTRY.function,
            arguments=arguments(call, result, profile.limits.output_bytes),
            files=(*ENTRY.files, *libraries(Reading(select=wanted.select, template=wanted.template))),
        ),
        call_id=call.call_id,
    )


def arguments(call: BoundCall, result: ToolResult, limit: int) -> JsonObject:
    """What the function is told: a result, what the spec makes of it, and how many bytes it may have then."""
    wanted = call.tool.result
    return {
        "text": result.text,
        "data": None if result.structured is None else [*result.structured],
        "select": wanted.select,
        "template": wanted.template,
        "arguments": call.arguments if wanted.template else {},
        "limit": limit,
    }


def shaped(result: ToolResult, outcome: Outcome) -> ToolResult:
    """``result`` in the words that ``outcome`` brought; its pictures and files stay behind them."""
    read = Python().read(ENTRY, ResultSpec(), outcome)
    if read.error is not None:
        return failure(read.error.kind, read.error.message, result.details)
    others = tuple(block for block in result.content if not isinstance(block, Text))
    return replace(result, content=read.content + others, structured=read.structured)
