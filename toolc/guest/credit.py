"""How much the other side may still send on a connection: what one stream can pile up is bounded."""

from __future__ import annotations

from toolc.guest.frames import CONNECTION_WINDOW, FIRST_WINDOW


class Credit:
    """The receiver's account. ``left`` is what the sender has to spend, in bytes."""

    def __init__(self) -> None:
        self.left = FIRST_WINDOW
        self._window = FIRST_WINDOW
        self._consumed = 0

    def spend(self, size: int) -> bool:
        """The sender has sent ``size`` bytes; whether it might."""
        self.left -= size
        return self.left >= 0

    def give_back(self, size: int, widely: bool) -> int:  # noqa: FBT001  a fact about the connections
        """``size`` bytes were consumed; what to grant the sender now, 0 for nothing yet.

        Half a window at a time, so that acknowledgements stay few. ``widely`` grants the wider window.
        """
        self._consumed += size
        if self._consumed < self._window // 2:
            return 0
        window = CONNECTION_WINDOW if widely else self._window
        granted = self._consumed + window - self._window
        self._window, self._consumed = window, 0
        self.left += granted
        return granted
