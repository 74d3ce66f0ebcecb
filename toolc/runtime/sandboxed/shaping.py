"""Shape the text of a result with ``result.select`` and ``result.template``, in the guest.

A template of a spec must not run on the host, so the shaping is a separate call in a sandbox.
"""

from dataclasses import replace
from typing import Final

from toolc.backends.python import Python
from toolc.model.call import BoundCall
from toolc.model.json_schema import JsonObject
from toolc.model.plan import LoopbackProxy, Plan, Profile, PythonCall
from toolc.model.result import Outcome, Text, ToolResult, failure
from toolc.model.spec.code_backends import File, PythonBackend
from toolc.model.spec.tool import ResultSpec
from toolc.runtime.http.message import guest_libraries

ENTRY: Final = PythonBackend(
    entry="shape.py",
    function="shape",
    files=(File(path="shape.py", text="from toolc.guest.http.shaping import shape\n"),),
)
"""A tool that calls the guest's own function for shaping results."""


def shaping_plan(call: BoundCall, result: ToolResult, profile: Profile) -> Plan:
    """Return the plan that shapes ``result`` in the image of the call, without its workspace and network."""
    invocation = PythonCall(
        entry=ENTRY.entry,
        function=ENTRY.function,
        arguments=arguments(call, result, profile.limits.output_bytes),
        files=(*ENTRY.files, *guest_libraries(call.tool.result)),
    )
    profile = replace(profile, workspace=None, loopback=LoopbackProxy(), requirements=(), has_fork_server=False)
    return Plan(profile=profile, invocation=invocation, call_id=call.call_id)


def read_shaped(result: ToolResult, outcome: Outcome) -> ToolResult:
    """Return ``result`` as ``outcome`` of its shaping plan has it, or the error of the shaping."""
    shaped = Python().read(ENTRY, ResultSpec(), outcome)
    if shaped.error is not None:
        return failure(shaped.error.kind, shaped.error.message, result.details)
    return with_shaped_text(result, shaped)


def arguments(call: BoundCall, result: ToolResult, limit: int) -> JsonObject:
    """Return the arguments of the shaping function: the result, the rules, and the limit in bytes."""
    shape = call.tool.result
    return {
        "text": result.text,
        "data": None if result.structured is None else [*result.structured],
        "select": shape.select,
        "template": shape.template,
        "arguments": call.arguments if shape.template else {},
        "limit": limit,
    }


def with_shaped_text(result: ToolResult, shaped: ToolResult) -> ToolResult:
    """Return ``result`` with the text and data of ``shaped``, followed by its own images and files."""
    others = tuple(block for block in result.content if not isinstance(block, Text))
    return replace(result, content=shaped.content + others, structured=shaped.structured)
