"""What is heard of a call while it runs, told as events."""

from __future__ import annotations

from dataclasses import dataclass, replace

from toolc.model.events import Listener, Stream, ToolConnect, ToolUpdate
from toolc.model.result import ConnectionAttempt, Content
from toolc.runtime.redaction import Redactor


@dataclass(frozen=True, slots=True)
class Heard:
    """Tells ``tell`` of one call, without its secrets."""

    name: str
    call_id: str
    tell: Listener
    redactor: Redactor

    def progress(self, percent: float | None, message: str, content: tuple[Content, ...]) -> None:
        """The tool reported how far it is, or yielded content that is no text."""
        self.tell(update(self.name, self.call_id, percent, message, content))

    def attempt(self, attempt: ConnectionAttempt) -> None:
        """A connection was asked for."""
        host, reason, remedy = map(self.redactor.text, (attempt.host, attempt.reason, attempt.remedy))
        attempt = replace(attempt, host=host, reason=reason, remedy=remedy)
        self.tell(ToolConnect(name=self.name, call_id=self.call_id, attempt=attempt))

    def output(self, stream: Stream, text: str) -> None:
        """The next piece of a stream came."""
        self.tell(ToolUpdate(name=self.name, call_id=self.call_id, stream=stream, text=text))


def update(name: str, call_id: str, percent: float | None, message: str, blocks: tuple[Content, ...]) -> ToolUpdate:
    """A report of progress; content that comes without any is the next piece of the stream of content."""
    is_report = percent is not None or bool(message) or not blocks
    stream: Stream | None = None if is_report else "content"
    return ToolUpdate(name=name, call_id=call_id, percent=percent, message=message, stream=stream, blocks=blocks)
