"""Questions that an MCP server asks during a call (elicitation). The person who confirms calls answers them."""

from __future__ import annotations

from typing import Final

from toolc.dataclass import replace
from toolc.model.call import Allow, BoundCall, Confirm
from toolc.model.json_schema import JsonObject, Schema, map_under
from toolc.model.spec.mcp_backend import McpBackend
from toolc.model.text import shorten
from toolc.validation.validate import schema_problem, validation_errors

MAX_QUESTION: Final = 2000
"""The maximum length of a question, in characters. A user cannot review more."""


def ask_person(confirm: Confirm, call: BoundCall, message: str, form: JsonObject) -> JsonObject | None:
    """Return the answer to a question with a form, or None if the person declines or the answer does not fit."""
    assert isinstance(call.tool.backend, McpBackend)
    if schema_problem(form):
        return None
    fields = map_under(form, "properties").items()
    question = replace(
        call,
        tool=replace(call.tool, parameters=Schema(form), caller=()),
        arguments={name: each["default"] for name, each in fields if isinstance(each, dict) and "default" in each},
        call_id=f"{call.call_id}.question",
        question=f"The MCP server {call.tool.backend.server.name} asks: {shorten(message, MAX_QUESTION)}",
    )
    decision = confirm(question)
    answer = decision.arguments if isinstance(decision, Allow) else None
    return answer if answer is not None and not validation_errors(form, answer) else None
