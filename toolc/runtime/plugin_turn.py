"""One call of a plugin, as a dialogue of lines: describe, compare, call, answer.

After an answer the plugin is asked to describe itself once more. A second answer to the same call, however late,
would come before that description, and so cannot be taken for the answer to the next call.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final, TypeVar

from toolc.backends.plugin import difference
from toolc.backends.plugin_lines import DESCRIBE, LineError, Offer, call_line, read_answer, read_offer, shown
from toolc.plan import PluginCall
from toolc.result import Capture, Outcome
from toolc.runtime.session_wire import EndedError, SessionWire

T = TypeVar("T")

_LOST: Final = "this call was not passed on, and what the process held is lost; call again, which starts it anew"


class PluginTurns:
    """The calls of one plugin's process, one after another."""

    def __init__(self) -> None:
        self._offer: Offer | None = None  # what it said of itself at its start

    def take(self, wire: SessionWire, call: PluginCall, call_id: str, *, more: bool) -> Outcome:
        """Pass one call on, which has begun on ``wire``; ``more`` says whether others may follow.

        Raises ``EndedError`` where the process is then not to be used again.
        """
        offer = self.describe(wire)
        if reason := difference(call, offer):
            message = f"the plugin is not the one that was reviewed, and was not called: {reason}"
            raise EndedError(replace(wire.outcome("refused"), reason=message))
        wire.say(call_line(call_id, call.arguments, call.tool if offer.has_several else None))
        answer = _waited(wire.line, "before it answered")
        try:
            read_answer(answer)
        except LineError as error:
            raise wire.broken(str(error)) from None
        if wire.has_line:
            raise wire.broken(f"it answered more than once: {shown(wire.line())}")
        if more:
            wire.say(DESCRIBE)
        wire.deliver()
        return replace(wire.outcome("answered"), reply=Capture(answer, b"", len(answer)))

    def describe(self, wire: SessionWire) -> Offer:
        """What the plugin is: at its start, and after each answer whether it still is. Raises ``EndedError``."""
        is_new = self._offer is None
        if is_new:
            wire.say(DESCRIBE)
        since = f"after its last answer; {_LOST}"
        line = _waited(wire.line, "before it had described itself" if is_new else since)
        try:
            offer = read_offer(line)
        except LineError as error:
            raise (wire.broken(str(error)) if is_new else _surplus(wire, line)) from None
        # It may have answered that, and ended since.
        _waited(wire.look, "after it had described itself" if is_new else since)
        if wire.has_line:
            raise _surplus(wire, wire.line())
        if self._offer not in (None, offer):
            raise wire.broken(f"it describes itself otherwise than at its start; {_LOST}")
        self._offer = offer
        return offer


def _surplus(wire: SessionWire, line: bytes) -> EndedError:
    return wire.broken(f"it wrote what no call had asked for, {shown(line)}; {_LOST}")


def _waited(wait: Callable[[], T], when: str) -> T:
    """What ``wait`` returns; ``when`` is added to what the process did in place of it."""
    try:
        return wait()
    except EndedError as error:
        outcome = error.outcome
        if outcome.ending in {"exited", "signaled", "broken"}:
            outcome = replace(outcome, reason=f"{outcome.reason} {when}".lstrip())
        raise EndedError(outcome) from None
