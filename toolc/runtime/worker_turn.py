"""One call of a session's function or program, which ``toolc.guest.session`` answers."""

from __future__ import annotations

import base64
from dataclasses import replace
from typing import Final

from toolc.backends.content import parse_json
from toolc.backends.plugin_protocol import line_of
from toolc.model.json_schema import JsonObject
from toolc.model.plan import Exec, Plan, PythonCall
from toolc.model.result import Capture, Ending, Outcome
from toolc.runtime.session_wire import SessionWire

_ENDINGS: Final[dict[object, Ending]] = {
    "exited": "exited",
    "signaled": "signaled",
    "not_started": "not_started",
}


def take_function(wire: SessionWire, plan: Plan, call: PythonCall) -> Outcome:
    """Call the function that lives in ``wire``'s sandbox. Raises ``EndedError`` where that is over."""
    answer = _ask(wire, {"mark": wire.mark, "call_id": plan.call_id, "arguments": call.arguments})
    return replace(wire.outcome("answered"), reply=Capture(answer, b"", len(answer)))


def take_program(wire: SessionWire, plan: Plan, call: Exec) -> Outcome:
    """Run a program in ``wire``'s sandbox. Raises ``EndedError`` where that is over."""
    asked: JsonObject = {
        "mark": wire.mark,
        "call_id": plan.call_id,
        "argv": [*call.argv],
        "environment": {variable.name: variable.value for variable in plan.env},
        "stdin": base64.b64encode(plan.stdin).decode("ascii"),
    }
    said = _said(wire, _ask(wire, asked))
    ending, status, reason = _ENDINGS.get(said.get("ending")), said.get("status"), said.get("reason")
    if ending is None or not isinstance(status, int) or not isinstance(reason, str):
        raise wire.broken("it said how the program ended in words that make no sense")
    cpu_ms, kills = said.get("cpu_ms"), said.get("oom_kills")
    outcome = wire.outcome("out_of_memory" if kills and ending != "not_started" else ending)
    usage = replace(outcome.usage, cpu_ms=cpu_ms if isinstance(cpu_ms, float) else None)
    return replace(outcome, status=status, reason=reason, usage=usage)


def _ask(wire: SessionWire, message: JsonObject) -> bytes:
    wire.say(line_of(message))
    line = wire.line()
    mark, _, answer = line.partition(b" ")
    if mark.decode("ascii", "replace") != wire.mark:
        raise wire.broken("it answered a call that nobody had made")
    wire.wait_for_marks()
    wire.deliver()
    return answer


def _said(wire: SessionWire, answer: bytes) -> JsonObject:
    try:
        value = parse_json(answer)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise wire.broken("it said how the program ended in words that are not JSON")
    return value
