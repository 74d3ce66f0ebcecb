"""The answers of a sub-agent's model: asked for, again where that may help, counted, judged, and told of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from time import monotonic
from typing import TYPE_CHECKING, Final

from toolc.model.call import BoundCall
from toolc.model.events import ToolConnect, ToolUpdate
from toolc.model.json_schema import JsonObject, JsonValue
from toolc.model.result import REPLACEMENT, ConnectionAttempt
from toolc.model.spec.composed_backends import AgentBackend
from toolc.model.spec.tool import ToolSpec
from toolc.runtime.agent_model import ModelError, Turn, ask
from toolc.runtime.caller import CallContext
from toolc.runtime.live_output import LiveText
from toolc.runtime.patience import Patience

if TYPE_CHECKING:
    from toolc.runtime.agent_api import Api

ATTEMPTS: Final = 3
"""How often one answer is asked for, where the API is busy or out of reach."""

BACKOFF_SECONDS: Final = 0.5
"""How long before the second attempt, where the API does not say; twice as long before the third."""

MAX_WAIT_SECONDS: Final = 60.0
"""An API that wants to be left alone for longer is not waited for."""

MAX_ANSWERED: Final = 4096
"""An answer with more calls than this is none that could be answered."""


class Told:
    """What listeners hear of the call itself; its parts tell of themselves."""

    def __init__(self, call: BoundCall, context: CallContext) -> None:
        self._name = call.tool.name
        self._context = context
        self._text = LiveText(call.tool.sandbox.limits.output_bytes)

    def attempt(self, attempt: ConnectionAttempt) -> None:
        """A connection to the API was made or failed."""
        self._context.tell(ToolConnect(name=self._name, call_id=self._context.call_id, attempt=attempt))

    def turn(self, number: int, turn: Turn) -> None:
        """The model has answered."""
        update = ToolUpdate(name=self._name, call_id=self._context.call_id)
        words = f"{turn.text}\n" if turn.text and turn.calls else turn.text
        if text := self._text.add(words.encode("utf-8", "replace")):
            self._context.tell(replace(update, stream="content", text=text))
        if turn.calls:
            names = ", ".join(dict.fromkeys(each.name for each in turn.calls))[:200]
            shown = "".join(each if each.isprintable() else REPLACEMENT for each in names)
            self._context.tell(replace(update, message=f"turn {number}: {shown}"))


@dataclass(slots=True)
class Turns:
    """The answers so far, by their number, and what they have cost."""

    backend: AgentBackend
    api: Api
    patience: Patience
    told: Told
    number: int = 0
    tokens_in: int = 0
    tokens_out: int = 0

    def are_over(self) -> bool:
        """Whether the model may not answer any more."""
        return self.number >= self.backend.max_turns

    def next(self, instructions: str, messages: Sequence[JsonValue], tools: Sequence[ToolSpec]) -> Turn:
        """The next answer, if it is one. Raises ``ModelError`` and ``InterruptedWaitError``."""
        used, budget = self.tokens_in + self.tokens_out, self.backend.token_budget
        if used >= budget:
            message = f"the model used {used} tokens and may use {budget}; ask for less, or raise 'token_budget'"
            raise ModelError("output_limit", message)
        dialect = self.api.dialect
        declared = dialect.provider.lower(tuple(tools)).tools
        turn = self._ask(dialect.body(self.backend, instructions, messages, declared))
        self.number += 1
        self.tokens_in += turn.tokens_in
        self.tokens_out += turn.tokens_out
        self.told.turn(self.number, turn)
        return self._judged(turn)

    def details(self) -> JsonObject:
        """Whose answers they are, and what they have cost."""
        return {
            "provider": self.backend.provider,
            "model": self.backend.model,
            "turns": self.number,
            "tokens_in": self.tokens_in,
            "tokens_out": self.tokens_out,
        }

    def _ask(self, body: JsonObject) -> Turn:
        for attempt in range(1, ATTEMPTS + 1):
            self.patience.check()
            try:
                return ask(self.api.dialect, self.api.post, body)
            except ModelError as error:
                seconds = error.wait_seconds
                if seconds is None:
                    seconds = BACKOFF_SECONDS * 2 ** (attempt - 1)
                is_too_long = seconds > MAX_WAIT_SECONDS or monotonic() + seconds >= self.patience.deadline
                if not error.again or attempt == ATTEMPTS or is_too_long:
                    raise
                self.patience.sleep(seconds)
        raise AssertionError("the last attempt returns or raises")

    def _judged(self, turn: Turn) -> Turn:
        if turn.stop == "refusal":
            raise ModelError("denied", f"the model would not answer: {turn.text or 'it gave no reason'}")
        if turn.stop == "length":
            most = self.backend.max_tokens
            why = f"it may write {most} tokens; ask for less, or raise 'max_tokens'"
            raise ModelError("output_limit", f"the model's answer was cut off: {why}\n{turn.text}".rstrip())
        if len(turn.calls) > MAX_ANSWERED:
            message = f"the model made {len(turn.calls)} calls in one answer, and {MAX_ANSWERED} can be answered"
            raise ModelError("output_limit", message)
        if not turn.calls and not turn.text.strip():
            raise ModelError("execution", "the model answered with nothing; ask in other words")
        return turn
