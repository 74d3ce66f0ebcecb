"""One call of a plugin, as a dialogue of lines: describe, compare, call, answer.

An answer need not say which call it answers. So what a plugin writes while no call is open ends it, and a call that
follows such an answer at once first waits a moment for another line. One that comes later still, when the next call
has been passed on, cannot be told from that call's answer. Where answers have their call's id, there is no doubt
and no wait; a plugin that begins with that must go on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from time import monotonic
from typing import Final, TypeVar

from toolc.backends.plugin import difference
from toolc.backends.plugin_protocol import (
    DESCRIBE,
    LineError,
    Offer,
    PluginResponse,
    Update,
    call_line,
    read_message,
    read_offer,
    shown,
)
from toolc.model.plan import PluginCall
from toolc.model.result import Capture, Outcome
from toolc.runtime.session_wire import EndedError, SessionWire

T = TypeVar("T")

QUIET_SECONDS: Final = 0.005
"""So long after an answer nothing is passed on: two flushes of a program with no work between are less apart."""

_LOST: Final = "this call was not passed on, and what the process held is lost; call again, which starts it anew"


class PluginTurns:
    """The calls of one plugin's process, one after another."""

    def __init__(self) -> None:
        self._offer: Offer | None = None  # what it said of itself at its start, the only time that it is asked
        self._answered = 0.0  # when, of monotonic
        self._last_id: str | None = None  # the call's of the last answer, if that said it

    def take(self, wire: SessionWire, call: PluginCall, call_id: str) -> Outcome:
        """Pass one call on, which has begun on ``wire``.

        Raises ``EndedError`` where the process is then not to be used again.
        """
        offer = self._offer
        if offer is None:
            offer = self._offer = self.describe(wire)
        else:
            # An id may come twice, from a caller, or of a call that is tried again.
            is_plain = self._last_id is not None and self._last_id != call_id
            _unasked(wire, 0.0 if is_plain else self._answered + QUIET_SECONDS, f"after its last answer; {_LOST}")
        if reason := difference(call, offer):
            message = f"the plugin is not the one that was reviewed, and was not called: {reason}"
            raise EndedError(replace(wire.outcome("refused"), reason=message))
        wire.say(call_line(call_id, call.arguments, call.tool if offer.has_several else None))
        line, answer = _answered(wire, call_id)
        self._check_call(wire, call_id, answer.call_id)
        if surplus := wire.surplus:
            raise wire.broken(f"it answered more than once: {shown(surplus)}")
        wire.deliver()
        self._answered = monotonic()
        return replace(wire.outcome("answered"), reply=Capture(line, b"", len(line)))

    def _check_call(self, wire: SessionWire, call_id: str, said: str | None) -> None:
        """Raise ``EndedError`` where an answer is that of another call, as far as the plugin says whose it is."""
        if said is None and self._last_id is not None:
            raise wire.broken("its answer has no 'call_id', which its answers before had")
        if said is not None and said != call_id:
            told = wire.redactor.text(said)
            raise wire.broken(f"it answered the call {told!r:.80}, and {call_id!r:.80} was open")
        self._last_id = said

    def describe(self, wire: SessionWire) -> Offer:
        """Ask the plugin what it is, which its start ends with. Raises ``EndedError``."""
        wire.say(DESCRIBE)
        line = wire.redactor.data(_waited(wire.line, "before it had described itself"))
        try:
            offer = read_offer(line)
        except LineError as error:
            raise wire.broken(str(error)) from None
        _unasked(wire, 0.0, "after it had described itself")
        return offer


def _answered(wire: SessionWire, call_id: str) -> tuple[bytes, PluginResponse]:
    """The answer to the open call, as a line and as it is read; updates before it are told."""
    updates = wire.updates()
    while True:
        line = _waited(wire.line, "before it answered")
        try:
            message = _read(wire, line)
        except LineError as error:
            raise wire.broken(str(error)) from None
        if isinstance(message, PluginResponse):
            updates.finish()
            return line, message
        if message.call_id not in {None, call_id}:
            said = wire.redactor.text(message.call_id or "")
            raise wire.broken(f"its update is of the call {said!r:.80}, and {call_id!r:.80} was open")
        updates.take(message.percent, message.message, message.content)
        wire.insist_on_time()


def _read(wire: SessionWire, line: bytes) -> PluginResponse | Update:
    """What a plugin said, with its secrets. Raises ``LineError``, whose words hold none, nor a piece of one."""
    try:
        return read_message(line)
    except LineError:
        read_message(wire.redactor.data(line))
        raise


def _unasked(wire: SessionWire, until: float, when: str) -> None:
    """Raise ``EndedError`` where the process says anything, or ends, before ``until`` (of ``monotonic``)."""
    _waited(lambda: wire.listen(until), when)
    if surplus := wire.surplus:
        raise wire.broken(f"it wrote what no call had asked for, {shown(surplus)}; {_LOST}")


def _waited(wait: Callable[[], T], when: str) -> T:
    """What ``wait`` returns; ``when`` is added to what the process did in place of it."""
    try:
        return wait()
    except EndedError as error:
        outcome = error.outcome
        if outcome.ending in {"exited", "signaled", "broken"}:
            outcome = replace(outcome, reason=f"{outcome.reason} {when}".lstrip())
        raise EndedError(outcome) from None
