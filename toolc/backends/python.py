"""``backend.python``: a function, called with the arguments as keywords, and the JSON it answers with.

The answer was written inside the sandbox, where the tool could have written it too: it is read as
strictly as any stranger's, and can say nothing but what a tool may say.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final, get_args

from toolc.backends.base import Backend, environment
from toolc.backends.content import MalformedError, both_streams, parse_json, read_content, signal_name, with_note
from toolc.model.call import BoundCall
from toolc.model.json_schema import JsonObject, JsonValue
from toolc.model.plan import Plan, Profile, PythonCall
from toolc.model.result import Capture, Image, Outcome, Text, ToolFailure, ToolResult, failure
from toolc.model.spec.code_backends import ErrorKind, PythonBackend
from toolc.model.spec.tool import ResultSpec

__all__ = ["Python"]


class Python:
    """The backend kind ``python``."""

    def plan(self, backend: PythonBackend, call: BoundCall, profile: Profile) -> Plan:
        """The function to call. Never raises: any JSON can be an argument."""
        invocation = PythonCall(
            entry=backend.entry, function=backend.function, arguments=call.arguments, files=backend.files
        )
        return Plan(profile=profile, invocation=invocation, call_id=call.call_id, env=environment(call))

    def read(self, backend: PythonBackend, result: ResultSpec, outcome: Outcome) -> ToolResult:
        """Read the function's answer; one that makes no sense is an ``execution`` error."""
        if outcome.ending == "not_started":
            # The worker itself is the interpreter: only arguments that the wire cannot carry keep it from starting.
            return failure("invalid_args", outcome.reason or f"{backend.function} cannot be called with so much")
        if outcome.ending == "signaled":
            return _no_answer(f"the function's process was killed by {signal_name(outcome.status)}", outcome)
        if outcome.ending == "broken":
            return _no_answer(f"the function's process is out of step: {outcome.reason}", outcome)
        if outcome.reply is None or not outcome.reply.total_bytes:
            return _no_answer(f"the process ended with status {outcome.status} and no answer", outcome)
        if outcome.reply.truncated:
            return failure(
                "output_limit",
                f"the function answered with {outcome.reply.total_bytes} bytes, more than its output limit; "
                "ask for less",
            )
        try:
            read = _read_reply(outcome.reply)
        except MalformedError as error:
            return failure("execution", f"the function's answer cannot be read: {error}")
        streams = {"stdout": outcome.stdout, "stderr": outcome.stderr}
        printed: JsonObject = {name: each.text() for name, each in streams.items() if each.total_bytes}
        read = replace(read, details=read.details | printed)
        return read if read.is_error else _as_declared(read, result)


def _as_declared(read: ToolResult, result: ResultSpec) -> ToolResult:
    """Hold an answer to ``result.format``; ``text``, the default, lets the answer's own type decide."""
    match result.format:
        case "text":
            return read
        case "none":
            return ToolResult(content=(), details=read.details)
        case "json" if read.structured is None:
            message = "the function must return JSON (a dict, list, number or boolean)"
            return failure("serialization", message, read.details)
        case "image" if not any(isinstance(block, Image) for block in read.content):
            return failure("serialization", "the function must return an image, and returned none", read.details)
        case "json" | "image":
            return read


def _no_answer(message: str, outcome: Outcome) -> ToolResult:
    text = with_note(both_streams(outcome.stdout, outcome.stderr), message)
    return ToolResult(content=(Text(text),), error=ToolFailure("execution", message))


def _read_reply(reply: Capture) -> ToolResult:
    try:
        value = parse_json(reply.data())
    except ValueError as error:
        raise MalformedError(f"it is not JSON ({error})") from None
    answer = _object(value, "the answer")
    if "error" in answer:
        failed = _read_error(_object(answer["error"], "error"))
        return replace(failed, details=failed.details | _tool_details(answer))
    structured = answer.get("structured")
    if structured is not None and not (isinstance(structured, list) and len(structured) == 1):
        raise MalformedError("'structured' is not a list of one")
    return ToolResult(
        content=read_content(answer.get("content")),
        structured=(structured[0],) if isinstance(structured, list) else None,
        details=_tool_details(answer),
    )


def _tool_details(answer: JsonObject) -> JsonObject:
    # A key of its own, so that a tool cannot pass its words off as toolc's measurements.
    details = _object(answer.get("details") or {}, "details")
    return {"tool": details} if details else {}


def _read_error(error: JsonObject) -> ToolResult:
    kind: ErrorKind = next((kind for kind in get_args(ErrorKind) if kind == error.get("kind")), "execution")
    message = _string(error.get("message"), "error.message")
    file, line = error.get("file"), error.get("line")
    details: JsonObject = {}
    if isinstance(traceback := error.get("traceback"), str) and traceback:
        details["traceback"] = traceback
    if isinstance(file, str) and isinstance(line, int) and not isinstance(line, bool):
        details |= {"file": file, "line": line}
        return ToolResult(
            content=(Text(with_note(message, f"{file}, line {line}")),),
            error=ToolFailure(kind, message),
            details=details,
        )
    return failure(kind, message, details)


def _object(value: JsonValue, what: str) -> JsonObject:
    if not isinstance(value, dict):
        raise MalformedError(f"{what} is not an object")
    return value


def _string(value: JsonValue, what: str) -> str:
    if not isinstance(value, str):
        raise MalformedError(f"{what} is not a string")
    return value


BACKEND: Final[Backend[PythonBackend]] = Python()
