"""The question whether a tool that says ``confirm: true`` may be called, on the terminal."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from toolc.cli.questions import Questions
    from toolc.model.call import Allow, BoundCall, Confirm, Deny


def confirmation(questions: Questions, *, yes: bool) -> Confirm | None:
    """Who answers; None where there is nobody to ask. ``yes`` is the answer given beforehand."""
    from toolc.model.call import Allow, Deny  # start-up time

    def ask(call: BoundCall) -> Allow | Deny:
        shown = json.dumps(call.arguments, indent=2, ensure_ascii=False)
        question = f"{call.tool.name} asks before it runs. Run it with these arguments?"
        return Allow() if questions.ask([f"{call.tool.name} {shown}"], question) else Deny()

    if yes:
        return lambda _: Allow()
    return ask if questions.can_be_asked else None
