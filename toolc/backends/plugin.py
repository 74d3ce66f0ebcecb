"""``backend.plugin``: a process that serves several calls and must match its reviewed description."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import takewhile
from typing import Final

from toolc.backends.backend_protocol import Backend, environment
from toolc.backends.content import apply_text_format, signal_name, with_note
from toolc.backends.plugin_protocol import LineError, Offer, read_response
from toolc.model.call import BoundCall
from toolc.model.json_schema import JsonObject, JsonValue
from toolc.model.plan import Plan, PluginCall, Profile
from toolc.model.result import Capture, Outcome, Text, ToolFailure, ToolResult, failure
from toolc.model.spec.code_backends import File, PluginBackend
from toolc.model.spec.tool import ResultSpec
from toolc.model.text import shorten

_TOOL_FOLDER: Final = "/tool"
"""The folder with a tool's files in its sandbox."""

_CONTEXT: Final = 20
"""How much of a long text is shown before the first difference, in characters."""

_CLOSED: Final = ("additionalProperties", "unevaluatedProperties")


class Plugin:
    """The backend kind ``plugin``."""

    def plan(self, backend: PluginBackend, call: BoundCall, profile: Profile) -> Plan:
        """Return the process to start and the call to send to it. Never raises: any JSON can be an argument."""
        invocation = PluginCall(
            argv=tuple(in_sandbox(word, backend.files) for word in backend.command),
            tool=backend.tool or call.tool.name,
            description=call.tool.description,
            parameters=call.tool.all_parameters.value,
            arguments=call.arguments,
            files=backend.files,
        )
        env = environment(call.tool.sandbox, call.call_id)
        return Plan(profile=profile, invocation=invocation, call_id=call.call_id, env=env)

    def read(self, backend: PluginBackend, result: ResultSpec, outcome: Outcome) -> ToolResult:
        """Return the result of the plugin's response, or an error that explains why there is none."""
        match outcome.ending:
            case "answered" if outcome.reply is not None:
                return _read_reply(result, outcome, outcome.reply)
            case "not_started":
                return failure("not_found", outcome.reason or f"{backend.command[0]} could not be started")
            case "refused":
                return failure("denied", outcome.reason)
            case "exited" | "signaled":
                return ended("the plugin's process", outcome)
            case _:
                return _protocol_error(outcome.reason, outcome)


def difference(reviewed: PluginCall, offer: Offer) -> str | None:
    """Describe how a plugin's own description differs from the reviewed one. None if they are the same."""
    offered = next((each for each in offer.tools if each.name == reviewed.tool), None)
    if offered is None:
        names = ", ".join(repr(each.name) for each in offer.tools)
        return f"it offers {names}, but the spec is for {reviewed.tool!r}"
    parameters = normalise_parameters(offered.parameters), normalise_parameters(reviewed.parameters)
    differences = [
        *differences_of("description", offered.description, reviewed.description),
        *differences_of("parameters", *parameters),
    ]
    return "; ".join(differences[:3]) or None


def ended(who: str, outcome: Outcome) -> ToolResult:
    """Return the error for a process that ended during a call. As for any program, stderr usually has the cause."""
    is_killed = outcome.ending == "signaled"
    how = f"was killed by {signal_name(outcome.status)}" if is_killed else f"ended with exit status {outcome.status}"
    message = f"{who} {how} {outcome.reason}".rstrip()
    text = with_note(outcome.stderr.text(), message) if outcome.stderr.total_bytes else message
    return ToolResult(content=(Text(text),), error=ToolFailure("execution", message))


def reported_error(who: str, read: ToolResult, outcome: Outcome) -> ToolResult:
    """Return ``read``, which a process sent as an error, as the error of its call."""
    message = read.text or f"{who} reported an error without a message"
    failed = replace(read, content=read.content or (Text(message),), error=ToolFailure("execution", message))
    return with_stderr(failed, outcome)


def with_stderr(result: ToolResult, outcome: Outcome) -> ToolResult:
    """Return ``result`` with the plugin's stderr in ``details``. It is the plugin's log and not shown to a model."""
    if not outcome.stderr.total_bytes:
        return result
    return replace(result, details=result.details | {"stderr": outcome.stderr.text()})


def normalise_parameters(parameters: JsonObject) -> JsonObject:
    """Return a plugin's parameters as a spec declares them. Other properties are refused, unless it allows them."""
    required = parameters.get("required")
    rest: JsonObject = {"type": "object", "properties": {}}
    rest |= {key: value for key, value in parameters.items() if key != "required"}
    if isinstance(required, list) and required:
        rest["required"] = sorted(required, key=str)
    return rest if any(key in rest for key in _CLOSED) else rest | {"additionalProperties": False}


def in_sandbox(word: str, files: tuple[File, ...]) -> str:
    """Return an argument of the command. The path of a file of the tool becomes its path in the sandbox."""
    path = word.removeprefix("./")
    return f"{_TOOL_FOLDER}/{path}" if any(file.path == path for file in files) else word


def differences_of(where: str, offered: JsonValue, reviewed: JsonValue) -> Iterator[str]:
    """Yield how a value at ``where`` in what a program offers differs from what was reviewed."""
    if isinstance(offered, dict) and isinstance(reviewed, dict):
        for key in sorted({*offered, *reviewed}):
            path = f"{where}.{key}"
            if key not in offered:
                yield f"it lacks {path}"
            elif key not in reviewed:
                yield f"it adds {path}"
            else:
                yield from differences_of(path, offered[key], reviewed[key])
    elif isinstance(offered, list) and isinstance(reviewed, list) and len(offered) == len(reviewed):
        for index, pair in enumerate(zip(offered, reviewed, strict=True)):
            yield from differences_of(f"{where}[{index}]", *pair)
    elif isinstance(offered, bool) != isinstance(reviewed, bool) or offered != reviewed:
        yield f"its {where} is {_short(offered, reviewed)}, but {_short(reviewed, offered)} was reviewed"


def _short(value: JsonValue, other: JsonValue) -> str:
    """Return a value as text for people. A long text begins shortly before its first difference from ``other``."""
    if isinstance(value, str) and isinstance(other, str):
        same = takewhile(lambda pair: pair[0] == pair[1], zip(value, other, strict=False))
        at = max(0, sum(1 for _ in same) - _CONTEXT)
        return ("..." if at else "") + shorten(ascii(value[at:]), 120)
    return shorten(ascii(value), 120)


def _read_reply(result: ResultSpec, outcome: Outcome, reply: Capture) -> ToolResult:
    if reply.truncated:
        size = len(reply.head)
        message = f"the plugin's response is longer than {size} bytes, its output limit; request less data"
        return with_stderr(failure("output_limit", message), outcome)
    try:
        response = read_response(reply.data())
    except LineError as error:
        return _protocol_error(str(error), outcome)
    details: JsonObject = {"tool": response.details} if response.details else {}
    read = ToolResult(content=response.content, details=details)
    if response.is_error:
        return reported_error("the plugin", read, outcome)
    return apply_text_format(read, result, "the plugin")


def _protocol_error(reason: str, outcome: Outcome) -> ToolResult:
    return with_stderr(failure("serialization", f"the plugin violated the protocol: {reason}"), outcome)


BACKEND: Final[Backend[PluginBackend]] = Plugin()
