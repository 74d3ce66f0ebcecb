"""The question whether a tool that says ``confirm: true`` may be called, on the terminal."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from threading import Lock
from typing import TYPE_CHECKING

import click

from toolc.cli.common import printable

if TYPE_CHECKING:
    from toolc.call import BoundCall
    from toolc.confirmation import Allow, Confirm, Deny


def confirmation(make_room: Callable[[], None], *, yes: bool) -> Confirm | None:
    """Who answers; None where there is nobody to ask.

    ``make_room`` clears what else is on the screen; ``yes`` is the answer given beforehand.
    """
    from toolc.confirmation import Allow, Deny  # start-up time

    # Steps that run at once ask one after another.
    asking = Lock()

    def ask(call: BoundCall) -> Allow | Deny:
        shown = json.dumps(call.arguments, indent=2, ensure_ascii=False)
        question = f"toolc: {call.tool.name} asks before it runs. Run it with these arguments?"
        with asking:
            make_room()
            print(printable(f"{call.tool.name} {shown}"), file=sys.stderr)
            return Allow() if click.confirm(question, default=False, err=True) else Deny()

    if yes:
        return lambda _: Allow()
    return ask if sys.stdin.isatty() and sys.stderr.isatty() else None
