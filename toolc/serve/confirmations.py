"""Calls that wait until a reviewer confirms them, with ``--confirm api``."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from secrets import token_urlsafe
from time import monotonic, time
from typing import TYPE_CHECKING, Final

from toolc.dataclass import dataclass, field
from toolc.model.call import Allow, BoundCall, Confirm, Deny
from toolc.model.json_schema import JsonObject

if TYPE_CHECKING:  # it needs anyio, and ``toolc serve --plugin`` does not
    from toolc.serve.served_client import RunningCall

MAX_WAITING: Final = 1000
"""The maximum number of calls that wait for a reviewer. Further ones are denied."""

_POLL_SECONDS: Final = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A waiting call. ``answers`` receives the first decision, after which ``answered`` is set."""

    identifier: str
    client: str
    call: BoundCall
    asked: float
    answers: list[Allow | Deny] = field(default_factory=list)
    answered: threading.Event = field(default_factory=threading.Event)

    def to_json(self) -> JsonObject:
        """Return the call as a reviewer sees it."""
        return {
            "id": self.identifier,
            "client": self.client,
            "tool": self.call.tool.name,
            "question": self.call.question,
            "arguments": self.call.arguments,
            "asked": self.asked,
        }


class Confirmations:
    """The calls that wait for a reviewer. ``running`` has all calls of the server and shows which are cancelled."""

    def __init__(self, running: Mapping[str, RunningCall]) -> None:
        self._running = running
        self._lock = threading.Lock()
        self._waiting: dict[str, Question] = {}

    def confirm_for(self, client: str) -> Confirm:
        """Return the function that asks about the calls of this client. It runs on the thread of the call."""

        def confirm(call: BoundCall) -> Allow | Deny:
            question = Question(identifier=token_urlsafe(12), client=client, call=call, asked=time())
            with self._lock:
                if len(self._waiting) >= MAX_WAITING:
                    return Deny("too many calls wait for a reviewer")
                self._waiting[question.identifier] = question
            deadline = monotonic() + call.tool.sandbox.limits.timeout_ms / 1000
            try:
                while not question.answered.wait(_POLL_SECONDS):
                    if monotonic() >= deadline:
                        return Deny("no reviewer answered in time")
                    running = self._running.get(call.call_id.partition(".")[0])
                    if running is None or running.cancellation.is_cancelled:
                        return Deny("the call was cancelled")
            finally:
                with self._lock:
                    self._waiting.pop(question.identifier, None)
            return question.answers[0]

        return confirm

    def waiting(self, reviewer: str) -> list[Question]:
        """Return the waiting calls of other clients, oldest first."""
        with self._lock:
            return [each for each in self._waiting.values() if each.client != reviewer]

    def answer(self, identifier: str, reviewer: str, decision: Allow | Deny) -> bool:
        """Decide about a call. Return whether it was waiting for this reviewer. Only the first answer counts."""
        with self._lock:
            question = self._waiting.get(identifier)
            if question is None or question.client == reviewer:
                return False
            del self._waiting[identifier]
            question.answers.append(decision)
        question.answered.set()
        return True


def refuse(_: BoundCall) -> Deny:
    """Deny every call that needs a confirmation, for ``--confirm refuse``."""
    return Deny("this server does not ask for confirmations")
