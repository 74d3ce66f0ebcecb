"""The content of a line of the audit log. It contains no secret, argument or result.

A host that contains an argument, or is contained in one, is replaced by its fingerprint. Workspace changes are counts,
because a path may be an argument. Only the line of an upload names a file.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
from collections.abc import Collection, Iterator
from typing import Final, Literal, TypeAlias

from toolc.model.json_schema import JsonObject, JsonValue, map_under
from toolc.model.names import TOOL_NAME
from toolc.model.registry_io import canonical
from toolc.telemetry.observation import EndedCall, StartedCall, outcome_of

ArgumentsForm: TypeAlias = Literal["hmac", "shape"]
"""What a line says about arguments: their HMAC, or the type of each."""

MAX_NETWORK: Final = 20
"""The maximum number of connections in a line. Further ones are only counted."""

MAX_SHAPE: Final = 100
"""The maximum number of arguments in a shape."""

_MIN_TEXT: Final = 4
"""Shorter arguments, such as 1 or "a", are in many hosts by chance."""

_TYPES: Final = {str: "string", bool: "boolean", int: "integer", float: "number", list: "array", dict: "object"}


class Fingerprint:
    """Computes the HMAC of a value. Equal values have equal HMACs. Without the key, values cannot be guessed."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    def of(self, value: JsonValue) -> str:
        """Return the HMAC of the canonical JSON of ``value``."""
        try:
            data = canonical(value)
        except (ValueError, RecursionError):  # such as NaN, of a call that fails for it
            data = repr(value).encode("utf-8", "backslashreplace")
        return f"hmac-sha256:{hmac.digest(self._key, data, hashlib.sha256).hex()}"


def started_record(started: StartedCall, fingerprint: Fingerprint, form: ArgumentsForm) -> JsonObject:
    """Return the part of the record that is known when a call starts."""
    tool, call = started.tool, started.call
    return {
        "call": call.call_id,
        "parent": call.call_id.rpartition(".")[0] if started.depth else None,
        "started": started.time.isoformat(timespec="microseconds"),
        "user": os.geteuid(),
        "client": started.client or None,
        "subject": started.subject or None,
        "process": os.getpid(),
        "tool": started.name or (call.name if TOOL_NAME.fullmatch(call.name) else fingerprint.of(call.name)),
        "surface": tool.surface_digest if tool else None,
        "effect": (tool.effect_digest or None) if tool else None,
        "arguments": fingerprint.of(call.arguments) if form == "hmac" else _shape(started),
    }


def ended_record(started: StartedCall, ended: EndedCall, fingerprint: Fingerprint, duration_ms: float) -> JsonObject:
    """Return the part of the record that is known when a call has ended."""
    details = ended.result.details if ended.result else {}
    outcome, kind = outcome_of(ended)
    record: JsonObject = {
        "outcome": outcome,
        "error": kind,
        "duration_ms": round(duration_ms, 3),
        "timing_ms": details.get("timing_ms"),
        "engine": details.get("engine"),
        # A call that is cancelled while it waits for an answer was not denied by anyone.
        "confirmation": None if (ended.decision, kind) == ("denied", "cancelled") else ended.decision,
    }
    if ended.changed:
        record["confirmed_arguments"] = fingerprint.of(ended.changed[0])
    if upload := details.get("upload"):
        record["upload"] = upload
    return record | _network(details, started, ended, fingerprint) | _changes(details)


def _shape(started: StartedCall) -> JsonValue:
    """Return the type of each declared argument. Other names are only counted, because the model chose them."""
    arguments = started.call.arguments
    if not isinstance(arguments, dict):
        return _type(arguments)
    known = [name for name in arguments if name in _parameters(started)]
    shape: JsonObject = {name: _type(arguments[name]) for name in sorted(known)[:MAX_SHAPE]}
    others = len(arguments) - len(shape)
    return {"types": shape} | ({"others": others} if others else {})


def _type(value: JsonValue) -> str:
    return "null" if value is None else _TYPES.get(type(value), "not JSON")


def _network(details: JsonObject, started: StartedCall, ended: EndedCall, fingerprint: Fingerprint) -> JsonObject:
    attempts = details.get("network")
    if not isinstance(attempts, list):
        return {}
    declared = {name.lower() for name in _parameters(started)}  # these texts are in the spec
    texts = {each.lower() for each in _texts([started.call.arguments, *(ended.changed or ())]) if each} - declared
    listed: list[JsonValue] = []
    for attempt in attempts[:MAX_NETWORK]:
        assert isinstance(attempt, dict)
        host = str(attempt["host"])
        if _shares_text(host.lower(), texts):
            host = fingerprint.of(host)
        listed.append({"host": host, **{key: attempt[key] for key in ("port", "allowed", "entry")}})
    more = details.get("network_not_listed", 0)
    assert isinstance(more, int)
    more += len(attempts) - len(listed)
    return {"network": listed} | ({"network_not_listed": more} if more else {})


def _parameters(started: StartedCall) -> Collection[str]:
    """Return the names of the parameters in the spec."""
    return started.tool.spec.parameters.properties if started.tool else ()


def _shares_text(host: str, texts: set[str]) -> bool:
    """Return whether a host contains a text or is contained in one. A short text must be a whole label of the host."""
    labels = set(host.split("."))
    return any(each in labels or host in each or (len(each) >= _MIN_TEXT and each in host) for each in texts)


def _texts(value: JsonValue) -> Iterator[str]:
    """Yield all strings and numbers in a value as text."""
    if isinstance(value, dict):
        for name, each in value.items():
            yield name
            yield from _texts(each)
    elif isinstance(value, list):
        for each in value:
            yield from _texts(each)
    elif value is not None and not isinstance(value, bool):
        yield value if isinstance(value, str) else json.dumps(value)


def _changes(details: JsonObject) -> JsonObject:
    changes = map_under(details, "changes")
    numbers = {name: len(each) for name, each in changes.items() if isinstance(each, list)}
    return {"changes": {**numbers, "total": changes["total"], "committed": changes["committed"]}} if changes else {}
