"""What is told of a call's connections: a list with an end, and each decision as it is made."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from time import monotonic
from typing import Final, TypeAlias

from toolc.model.result import ConnectionAttempt
from toolc.runtime.egress_connection import Connection

MAX_LISTED: Final = 256
"""How many attempts are listed, and as many refusals beyond; of more, only their number is known."""

Listener: TypeAlias = Callable[[ConnectionAttempt], None]
"""Is told of each decision: a connection that was made, refused, or failed."""


class Told:
    """Keeps account of what was asked for, in that order."""

    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self._listed: list[Connection] = []
        self._asked = 0
        self._refused = 0

    @property
    def asked(self) -> int:
        """How many connections were asked for."""
        return self._asked

    @property
    def unlisted(self) -> int:
        """How many of them are not in ``attempts``."""
        return self._asked - len(self._listed)

    def attempts(self) -> tuple[ConnectionAttempt, ...]:
        """What was asked for, and what came of it so far."""
        now = monotonic()
        return tuple(each.attempt(now) for each in self._listed)

    def add(self, connection: Connection) -> None:
        """One more was asked for. However many were allowed, what was refused is what somebody will look for."""
        self._asked += 1
        is_refused = connection.decision.entry is None
        self._refused += is_refused
        if len(self._listed) < MAX_LISTED or (is_refused and self._refused <= MAX_LISTED):
            self._listed.append(connection)

    def renew(self, connections: Iterable[Connection]) -> None:
        """Count anew; ``connections`` are open still, and listed again."""
        self._listed = [*connections]
        self._asked, self._refused = len(self._listed), 0

    def tell(self, connection: Connection) -> None:
        """Something was decided. Raises what the listener raises."""
        self._listener(connection.attempt(monotonic()))
