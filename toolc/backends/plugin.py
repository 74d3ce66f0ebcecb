"""``backend.plugin``: a process that serves call after call, and is held to the description that was reviewed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from toolc.backends.base import Backend, environment
from toolc.backends.content import parse_json, signal_name, with_note
from toolc.backends.plugin_protocol import Description, LineError, Offer, read_answer
from toolc.model.call import BoundCall
from toolc.model.json_schema import JsonObject, JsonValue
from toolc.model.plan import Plan, PluginCall, Profile
from toolc.model.result import Capture, Image, Outcome, Text, ToolFailure, ToolResult, failure
from toolc.model.spec.code_backends import File, PluginBackend
from toolc.model.spec.tool import ResultSpec

__all__ = ["Plugin", "difference", "logged"]

TOOL_FOLDER: Final = "/tool"
"""Where a tool's files stand in its sandbox."""

_CLOSED: Final = ("additionalProperties", "unevaluatedProperties")


class Plugin:
    """The backend kind ``plugin``."""

    def plan(self, backend: PluginBackend, call: BoundCall, profile: Profile) -> Plan:
        """The process to have, and the call to pass to it. Never raises: any JSON can be an argument."""
        invocation = PluginCall(
            argv=tuple(_placed(word, backend.files) for word in backend.command),
            tool=backend.tool or call.tool.name,
            description=call.tool.description,
            parameters=call.tool.parameters.value,
            arguments=call.arguments,
            files=backend.files,
        )
        return Plan(profile=profile, invocation=invocation, call_id=call.call_id, env=environment(call))

    def read(self, backend: PluginBackend, result: ResultSpec, outcome: Outcome) -> ToolResult:
        """Read the plugin's answer, or say what it did in place of one."""
        match outcome.ending:
            case "answered" if outcome.reply is not None:
                return _answered(result, outcome, outcome.reply)
            case "not_started":
                return failure("not_found", outcome.reason or f"{backend.command[0]} could not be started")
            case "refused":
                return failure("denied", outcome.reason)
            case "exited":
                ended = f"ended with exit status {outcome.status}"
            case "signaled":
                ended = f"was killed by {signal_name(outcome.status)}"
            case _:
                return _broken(outcome.reason, outcome)
        return _crashed(f"the plugin's process {ended} {outcome.reason}".rstrip(), outcome)


def difference(reviewed: PluginCall, offer: Offer) -> str | None:
    """How what a plugin says of itself differs from what was reviewed, as a sentence; None where it does not."""
    found = next((each for each in offer.tools if each.name == reviewed.tool), None)
    if found is None:
        names = ", ".join(repr(each.name) for each in offer.tools)
        return f"it offers {names}, and the spec is of {reviewed.tool!r}"
    wanted = Description(reviewed.tool, reviewed.description, reviewed.parameters)
    said = _differences("description", found.description, wanted.description)
    differences = [*said, *_differences("parameters", closed(found.parameters), closed(wanted.parameters))]
    return "; ".join(differences[:3]) or None


def logged(result: ToolResult, outcome: Outcome) -> ToolResult:
    """``result`` with what the plugin wrote to stderr in ``details``: its log, which no model sees."""
    if not outcome.stderr.total_bytes:
        return result
    return replace(result, details=result.details | {"stderr": outcome.stderr.text()})


def closed(parameters: JsonObject) -> JsonObject:
    """A plugin's parameters as a spec has them: a root that takes no others, unless it says otherwise."""
    required = parameters.get("required")
    rest: JsonObject = {"type": "object", "properties": {}}
    rest |= {key: value for key, value in parameters.items() if key != "required"}
    if isinstance(required, list) and required:
        rest["required"] = sorted(required, key=str)
    return rest if any(key in rest for key in _CLOSED) else rest | {"additionalProperties": False}


def _placed(word: str, files: tuple[File, ...]) -> str:
    """A word of the command; the path of one of the tool's files becomes where that stands."""
    path = word.removeprefix("./")
    return f"{TOOL_FOLDER}/{path}" if any(file.path == path for file in files) else word


def _differences(where: str, said: JsonValue, reviewed: JsonValue) -> Iterator[str]:
    if isinstance(said, dict) and isinstance(reviewed, dict):
        for key in sorted({*said, *reviewed}):
            path = f"{where}.{key}"
            if key not in said:
                yield f"it lacks {path}"
            elif key not in reviewed:
                yield f"it adds {path}"
            else:
                yield from _differences(path, said[key], reviewed[key])
    elif isinstance(said, list) and isinstance(reviewed, list) and len(said) == len(reviewed):
        for index, pair in enumerate(zip(said, reviewed, strict=True)):
            yield from _differences(f"{where}[{index}]", *pair)
    elif isinstance(said, bool) != isinstance(reviewed, bool) or said != reviewed:
        yield f"its {where} is {_short(said)}, and {_short(reviewed)} was reviewed"


def _short(value: JsonValue) -> str:
    text = repr(value)
    return text if len(text) <= 120 else f"{text[:120]}..."


def _answered(result: ResultSpec, outcome: Outcome, reply: Capture) -> ToolResult:
    if reply.truncated:
        message = (
            f"the plugin's answer is a line of more than {len(reply.head)} bytes, beyond its output limit; ask for less"
        )
        return logged(failure("output_limit", message), outcome)
    try:
        answer = read_answer(reply.data())
    except LineError as error:
        return _broken(str(error), outcome)
    details: JsonObject = {"tool": answer.details} if answer.details else {}
    if answer.is_error:
        words = "\n".join(block.text for block in answer.content if isinstance(block, Text))
        message = words or "the plugin reported an error and said no more"
        content = answer.content or (Text(message),)
        return logged(ToolResult(content=content, error=ToolFailure("execution", message), details=details), outcome)
    return _as_declared(ToolResult(content=answer.content, details=details), result)


def _as_declared(read: ToolResult, result: ResultSpec) -> ToolResult:
    """Hold an answer to ``result.format``; ``text``, the default, lets the answer be what it is."""
    match result.format:
        case "text":
            return read
        case "none":
            return ToolResult(content=(), details=read.details)
        case "image" if any(isinstance(block, Image) for block in read.content):
            return read
        case "image":
            return failure("serialization", "the plugin must answer with an image, and gave none", read.details)
        case "json":
            try:
                value = parse_json(read.text.encode("utf-8", "replace"))
            except ValueError as error:
                return failure("serialization", f"the plugin's answer is not JSON: {error}", read.details)
            return ToolResult(content=read.content, structured=(value,), details=read.details)


def _broken(reason: str, outcome: Outcome) -> ToolResult:
    return logged(failure("serialization", f"the plugin broke its protocol: {reason}"), outcome)


def _crashed(message: str, outcome: Outcome) -> ToolResult:
    """With what it wrote to stderr, as of any program: mostly that alone says why."""
    text = with_note(outcome.stderr.text(), message) if outcome.stderr.total_bytes else message
    return ToolResult(content=(Text(text),), error=ToolFailure("execution", message))


BACKEND: Final[Backend[PluginBackend]] = Plugin()
