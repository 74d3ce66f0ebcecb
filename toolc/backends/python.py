"""The backend ``python``: calls a function with keyword arguments, and reads its JSON response.

The response is not trusted, because the tool runs in the same sandbox and can forge it. It is therefore validated
strictly, and can contain only the fields that a tool may report.
"""

from dataclasses import replace
from typing import Final, get_args

from toolc.backends.backend_protocol import Backend, environment
from toolc.backends.content import (
    MalformedError,
    apply_format,
    program_failure,
    read_content,
    require_object,
    require_string,
    signal_name,
)
from toolc.model.call import BoundCall
from toolc.model.json_schema import JsonObject, parse_json
from toolc.model.plan import Plan, Profile, PythonCall
from toolc.model.result import Capture, Outcome, Text, ToolResult, failure
from toolc.model.spec.code_backends import ErrorKind, PythonBackend
from toolc.model.spec.tool import ResultSpec


class Python:
    """The backend kind ``python``."""

    def plan(self, backend: PythonBackend, call: BoundCall, profile: Profile) -> Plan:
        """Return the plan to call the function. Never raises: any JSON can be an argument."""
        invocation = PythonCall(
            entry=backend.entry, function=backend.function, arguments=call.arguments, files=backend.files
        )
        env = environment(call.tool.sandbox, call.call_id)
        return Plan(profile=profile, invocation=invocation, call_id=call.call_id, env=env)

    def read(self, backend: PythonBackend, result: ResultSpec, outcome: Outcome) -> ToolResult:
        """Return the function's result, or what it printed if it returned nothing."""
        return _with_printed(self.returned(backend, result, outcome), result, outcome)

    def returned(self, backend: PythonBackend, result: ResultSpec, outcome: Outcome) -> ToolResult:
        """Return the function's result. A malformed response becomes an ``execution`` error."""
        if outcome.ending == "not_started":
            # The worker itself is the interpreter, so the only possible cause is arguments that are too large to send.
            return failure("invalid_args", outcome.reason or f"the arguments of {backend.function} are too large")
        during = f" {outcome.reason}" if outcome.reason else ""
        if outcome.ending == "signaled":
            killed = f"the function's process was killed by {signal_name(outcome.status)}{during}"
            return _no_response(killed, outcome)
        if outcome.ending == "broken":
            return _no_response(f"the function's process violated the protocol: {outcome.reason}", outcome)
        if outcome.reply is None or not outcome.reply.total_bytes:
            return _no_response(
                f"the function's process ended with status {outcome.status} and without a response{during}", outcome
            )
        if outcome.reply.truncated:
            size = outcome.reply.total_bytes
            return failure(
                "output_limit", f"the function's result has {size} bytes, more than its output limit; request less data"
            )
        try:
            read = _read_reply(outcome.reply)
        except MalformedError as error:
            return failure("execution", f"the function's response cannot be read: {error}")
        streams = {"stdout": outcome.stdout, "stderr": outcome.stderr}
        printed: JsonObject = {name: each.text() for name, each in streams.items() if each.total_bytes}
        read = replace(read, details=read.details | printed)
        if read.is_error:
            return read
        return apply_format(read, result, "the function")


def _with_printed(read: ToolResult, result: ResultSpec, outcome: Outcome) -> ToolResult:
    """Return the result of a function that returned nothing with what it printed, because a model needs some text."""
    if read.is_error or read.content or read.structured is not None or result.format == "none" or result.files:
        return read
    text = outcome.stdout.text() or "[the function returned nothing]"
    return replace(read, content=(Text(text),), details=read.details | {"returned_nothing": True})


def _no_response(message: str, outcome: Outcome) -> ToolResult:
    return program_failure("execution", message, outcome, message)


def _read_reply(reply: Capture) -> ToolResult:
    try:
        value = parse_json(reply.data())
    except ValueError as error:
        raise MalformedError(f"it is not JSON ({error})") from None
    answer = require_object(value, "the answer")
    # Under a separate key, so that a tool cannot pass its own details off as toolc's measurements.
    own = require_object(answer.get("details") or {}, "details")
    details: JsonObject = {"tool": own} if own else {}
    if "error" in answer:
        failed = _read_error(require_object(answer["error"], "error"))
        return replace(failed, details=failed.details | details)
    structured = answer.get("structured")
    if structured is not None and not (isinstance(structured, list) and len(structured) == 1):
        raise MalformedError("'structured' is not a list with one item")
    return ToolResult(
        content=read_content(answer.get("content")),
        structured=(structured[0],) if isinstance(structured, list) else None,
        details=details,
    )


def _read_error(error: JsonObject) -> ToolResult:
    kind: ErrorKind = next((kind for kind in get_args(ErrorKind) if kind == error.get("kind")), "execution")
    message = require_string(error.get("message"), "error.message")
    file, line = error.get("file"), error.get("line")
    details: JsonObject = {}
    if isinstance(traceback := error.get("traceback"), str) and traceback:
        details["traceback"] = traceback
    if isinstance(file, str) and isinstance(line, int) and not isinstance(line, bool):
        # For the tool's author. A model cannot see the tool's files.
        details |= {"file": file, "line": line}
    return failure(kind, message, details)


BACKEND: Final[Backend[PythonBackend]] = Python()
