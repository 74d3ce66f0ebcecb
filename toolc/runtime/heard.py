"""What is heard of a call while it runs, told as events."""

from __future__ import annotations

from dataclasses import dataclass, replace

from toolc.attempt import Attempt
from toolc.events import Listener, Stream, ToolConnect, ToolUpdate
from toolc.runtime.redaction import Redactor


@dataclass(frozen=True, slots=True)
class Heard:
    """Tells ``tell`` of one call, without its secrets."""

    name: str
    call_id: str
    tell: Listener
    redactor: Redactor

    def progress(self, percent: float | None, message: str) -> None:
        """The tool reported how far it is."""
        self.tell(ToolUpdate(name=self.name, call_id=self.call_id, percent=percent, message=message))

    def attempt(self, attempt: Attempt) -> None:
        """A connection was asked for."""
        host, reason, remedy = map(self.redactor.text, (attempt.host, attempt.reason, attempt.remedy))
        attempt = replace(attempt, host=host, reason=reason, remedy=remedy)
        self.tell(ToolConnect(name=self.name, call_id=self.call_id, attempt=attempt))

    def output(self, stream: Stream, text: str) -> None:
        """The next piece of a stream came."""
        self.tell(ToolUpdate(name=self.name, call_id=self.call_id, stream=stream, text=text))
