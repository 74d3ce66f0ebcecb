"""The results of calls that were stopped at a limit, by cancellation, or before they started.

Also the message for a process that did not describe its tools.
"""

from typing import Final

from toolc.backends import load_backend
from toolc.model.json_schema import JsonObject
from toolc.model.result import Outcome, Text, ToolFailure, ToolResult
from toolc.model.spec.code_backends import ErrorKind
from toolc.model.spec.sandbox import Limits
from toolc.model.spec.tool import ToolSpec
from toolc.model.text import render_size

INTERRUPTED: Final = frozenset({"timed_out", "out_of_memory", "workspace_limit", "cancelled"})
"""The endings of calls that were stopped from outside, which are the same for all backends."""

STDOUT_SO_FAR: Final = "\n[stdout so far]\n"
"""The separator between the message and the output of an interrupted call."""

NOT_STARTED: Final = "the call was not started, because the time limit of the whole operation was reached"
"""The message for a call that has no time left."""


def interrupted_result(outcome: Outcome, limits: Limits, timeout_ms: int | None) -> ToolResult:
    """Return the result of a call whose ending is in ``INTERRUPTED``, with the output so far.

    ``timeout_ms`` is the call's own limit, or None if the time limit of a batch or of a surrounding call was reached.
    """
    kind: ErrorKind = "cancelled"
    message = "the call was cancelled before it finished"
    if outcome.ending == "timed_out":
        kind = "timeout"
        when = f"within {timeout_ms / 1000:g} s" if timeout_ms else "before the time limit of the whole operation"
        # The server of the last request may be the slow one.
        last_request = f"; its last request was to {url}" if (url := outcome.about.get("url")) else ""
        message = f"the call did not finish {when} and was stopped{last_request}; request less work per call"
    elif outcome.ending == "out_of_memory":
        kind = "out_of_memory"
        limit = render_size(limits.memory_bytes)
        message = f"the call exceeded its memory limit of {limit} and was stopped; request less data per call"
    elif outcome.ending == "workspace_limit":
        kind = "output_limit"
        message = f"the call wrote more than {outcome.reason} to the workspace and was stopped; write less per call"
    streams = [("stdout", outcome.stdout.text()), ("stderr", outcome.stderr.text())]
    output = "".join(f"\n[{name} so far]\n{text.rstrip()}" for name, text in streams if text.strip())
    details: JsonObject = {"http": outcome.about} if outcome.about else {}
    return ToolResult(content=(Text(message + output),), error=ToolFailure(kind, message), details=details)


def unanswered(tool: ToolSpec, outcome: Outcome, timeout_ms: int) -> str:
    """Return why the plugin or MCP server of ``tool`` did not describe its tools, including its stderr."""
    if outcome.ending in INTERRUPTED:
        result = interrupted_result(outcome, tool.sandbox.limits, timeout_ms)
    else:
        result = load_backend(tool.backend.tag).read(tool.backend, tool.result, outcome)
    log = f"\n[stderr]\n{result.details['stderr']}".rstrip() if "stderr" in result.details else ""
    return f"{result.text}{log}"
