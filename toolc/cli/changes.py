"""What a call changed in its workspace, for people: the question before, and the summary after."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

from toolc.cli.common import note
from toolc.model.call import NOBODY_TO_ASK
from toolc.reporters.text import escape_for_terminal

if TYPE_CHECKING:
    from toolc.cli.questions import Questions
    from toolc.model.call import Action, Ask, FileChange, Proposal
    from toolc.model.json_schema import JsonObject
    from toolc.model.result import ToolResult

MOST_SHOWN: Final = 20
"""How many changes are shown; the rest are counted."""

_SIGNS: Final[dict[Action, str]] = {"added": "+", "changed": "~", "deleted": "-"}


class Question:
    """The question whether a tool's changes may become real, for one call."""

    def __init__(self, questions: Questions, *, yes: bool) -> None:
        """``yes`` is the answer given beforehand."""
        self._questions = questions
        self._yes = yes
        self.was_asked = False

    def ask(self) -> Ask | None:
        """Who decides; None where there is nobody."""
        if self._yes:
            return lambda _: True
        return self._ask if self._questions.can_be_asked else None

    def _ask(self, proposal: Proposal) -> bool:
        """Show what the tool would change, and ask."""
        self.was_asked = True
        changes = proposal.changes[:MOST_SHOWN]
        lines = [_line(_SIGNS[change.action], change.shown_path, _about(change)) for change in changes]
        lines += _rest(len(proposal.changes))
        would = f"{proposal.tool} would make {_count(len(proposal.changes))} in {proposal.workspace}."
        return self._questions.ask(lines, f"{would} Do it?")


def print_changes(result: ToolResult, *, listed: bool) -> None:
    """Say on stderr what the call changed, unless it is ``listed`` there, and whether it is in the real files."""
    told = result.details.get("changes")
    if not isinstance(told, dict):
        return
    total = told.get("total")
    assert isinstance(total, int)
    if not listed:
        _print_listed(told)
        for line in _rest(total):
            print(line, file=sys.stderr)
    if told.get("committed") is True:
        note(f"the workspace has {_count(total)}")
    elif result.is_error:
        note(f"the workspace is as it was, without {_count(total)}")
        if told.get("reason") == NOBODY_TO_ASK:
            note("to be asked, run it on a terminal; to allow it at once: toolc run --yes ...")
    else:
        note(escape_for_terminal(f"the workspace is as it was: {told.get('reason')}"))


def _print_listed(told: JsonObject) -> None:
    left = MOST_SHOWN
    for action, sign in _SIGNS.items():
        listed = told.get(action)
        for change in listed[:left] if isinstance(listed, list) else []:
            assert isinstance(change, dict)
            left -= 1
            about = f"{change['size_bytes']} bytes" if change.get("kind") == "file" and action != "deleted" else ""
            print(_line(sign, str(change["path"]), about or _kind(change)), file=sys.stderr)


def _kind(change: JsonObject) -> str:
    return "" if change.get("kind") == "file" else str(change.get("kind"))


def _about(change: FileChange) -> str:
    if change.kind != "file":
        return change.kind
    return "" if change.action == "deleted" else f"{change.size_bytes} bytes"


def _line(sign: str, path: str, about: str) -> str:
    # One line each, whatever the name holds.
    shown = escape_for_terminal(path).replace("\n", "\\n").replace("\t", "\\t")
    return f"  {sign} {shown}" + (f" ({about})" if about else "")


def _rest(total: int) -> list[str]:
    return [f"  and {total - MOST_SHOWN} more"] if total > MOST_SHOWN else []


def _count(number: int) -> str:
    return "this change" if number == 1 else f"these {number} changes"
