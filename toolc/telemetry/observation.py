"""The interface between calls and their records. An observer is notified when a call starts and ends."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from typing import TypeAlias

from toolc.dataclass import dataclass, field
from toolc.model.call import Allow, BoundCall, Confirm, Deny, ToolCall
from toolc.model.errors import InfrastructureError, ToolcError
from toolc.model.json_schema import JsonValue
from toolc.model.registry import RegisteredTool
from toolc.model.result import ToolResult


@dataclass(frozen=True, slots=True, kw_only=True)
class StartedCall:
    """A call before its checks. ``tool`` is None for an unknown name and for a sandbox without a tool.

    ``client`` is the client of a server that makes the call, or empty. ``subject`` is the caller's claim ``sub``, or
    empty. ``depth`` is 0 for a call that is not nested in another call.
    """

    tool: RegisteredTool | None
    call: ToolCall
    client: str = ""
    subject: str = ""
    depth: int = 0
    time: datetime = field(default_factory=lambda: datetime.now(UTC))

    @property
    def name(self) -> str:
        """The name of the tool. Empty without a tool, because callers could invent any number of names."""
        return self.tool.spec.name if self.tool else ""


@dataclass(slots=True, kw_only=True)
class EndedCall:
    """The end of a call, with a result, an exception, or a ``refusal``, which is the reason why no tool was called.

    ``decision`` is the answer if the call had to be confirmed, otherwise None. If the answer changed the arguments,
    ``changed`` is a tuple with the new ones.
    """

    result: ToolResult | None = None
    error: BaseException | None = None
    refusal: str = ""
    decision: str | None = None
    changed: tuple[JsonValue] | None = None


def outcome_of(ended: EndedCall) -> tuple[str, str | None]:
    """Return the outcome (``ok``, ``error``, ``refused`` or ``interrupted``) and the kind of the error."""
    if ended.refusal:
        return "refused", ended.refusal
    if ended.result is None:
        return "refused" if isinstance(ended.error, ToolcError) else "interrupted", type(ended.error).__name__
    return ("error", ended.result.error.kind) if ended.result.error else ("ok", None)


Observer: TypeAlias = Callable[[StartedCall], Callable[[EndedCall], None]]
"""Records a call: it is called at the start, and what it returns is called at the end, on the same thread.

An exception at the start refuses the call and reaches its caller. At the end, an observer must not raise.
"""


@contextmanager
def observed(observers: Sequence[Observer], started: StartedCall) -> Iterator[EndedCall]:
    """Notify the observers at the start and the end of the block. The block sets the result."""
    ended = EndedCall()
    with ExitStack() as endings:
        for observer in observers:
            endings.callback(observer(started), ended)
        try:
            yield ended
        except BaseException as error:
            ended.error = error
            raise


def record_refusal(observers: Sequence[Observer], started: StartedCall, refusal: str) -> None:
    """Record a call that reaches no tool. It is refused in any case, so an observer's error is only logged."""
    try:
        with observed(observers, started) as ended:
            ended.refusal = refusal
    except InfrastructureError as error:
        logging.getLogger("toolc").error("a refused call was not recorded (%s): %s", refusal, error)


def recording(confirm: Confirm | None, ended: EndedCall) -> Confirm | None:
    """Wrap ``confirm`` so that its answer is recorded in ``ended``."""
    if confirm is None:
        return None

    def recorded(call: BoundCall) -> Allow | Deny:
        decision = confirm(call)
        if not isinstance(decision, Allow):
            ended.decision = "denied"
        elif decision.arguments is None:
            ended.decision = "allowed"
        else:
            ended.decision, ended.changed = "changed", (decision.arguments,)
        return decision

    return recorded
