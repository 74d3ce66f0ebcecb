"""Questions on the terminal, one at a time: calls that run at once may all have one."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING

import click

from toolc.reporters.text import escape_for_terminal

if TYPE_CHECKING:
    from toolc.model.events import Event, Listener


class Questions:
    """Whoever sits at the terminal. ``make_room`` clears what else is on its screen."""

    def __init__(self, make_room: Callable[[], None]) -> None:
        self._make_room = make_room
        self._one = Lock()
        self._screen = Lock()
        self._is_asking = False
        self._held: list[Callable[[], None]] = []

    @property
    def can_be_asked(self) -> bool:
        """Whether there is somebody."""
        return sys.stdin.isatty() and sys.stderr.isatty()

    def ask(self, shown: Sequence[str], question: str) -> bool:
        """Show some lines and ask; no is the default. Nothing else comes onto the screen until the answer."""
        with self._one:
            with self._screen:
                self._make_room()
                self._is_asking = True
            try:
                for line in shown:
                    print(escape_for_terminal(line), file=sys.stderr)
                return click.confirm(f"toolc: {escape_for_terminal(question)}", default=False, err=True)
            finally:
                self._go_on()

    def behind(self, listener: Listener) -> Listener:
        """``listener``, which hears what comes during a question once that has its answer."""

        def listen(event: Event) -> None:
            with self._screen:
                if self._is_asking:
                    self._held.append(partial(listener, event))
                else:
                    listener(event)

        return listen

    def _go_on(self) -> None:
        with self._screen:
            self._is_asking = False
            held, self._held = self._held, []
            for tell in held:
                tell()
