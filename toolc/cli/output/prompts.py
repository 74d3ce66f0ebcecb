"""Ask the user about a call and its workspace changes, and summarize the changes."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, Final

import click

from toolc.cli.common import note
from toolc.model.call import NO_APPROVER, Allow, Deny
from toolc.reporters.text import escape_for_terminal

if TYPE_CHECKING:
    from toolc.model.call import Action, ApproveChanges, BoundCall, Confirm, Proposal
    from toolc.model.events import Event, Listener
    from toolc.model.json_schema import JsonObject, JsonValue
    from toolc.model.result import ToolResult

MAX_SHOWN: Final = 20
"""The maximum number of changes shown. The rest are counted, so that the changes and the question fit a screen."""

_SIGNS: Final[dict[Action, str]] = {"added": "+", "changed": "~", "deleted": "-"}


class Prompts:
    """Prompts on the terminal, one at a time. ``make_room`` clears other output from the screen."""

    def __init__(self, make_room: Callable[[], None]) -> None:
        self._make_room = make_room
        self._turn = Lock()
        self._screen = Lock()
        self._is_asking = False
        self._delayed: list[Callable[[], None]] = []

    @property
    def is_available(self) -> bool:
        """Whether stdin and stderr are terminals."""
        return sys.stdin.isatty() and sys.stderr.isatty()

    def ask(self, lines: Sequence[str], question: str) -> bool:
        """Show some lines and ask. The default answer is no. Other output waits for the answer."""
        with self._turn:
            with self._screen:
                self._make_room()
                self._is_asking = True
            try:
                for line in lines:
                    print(escape_for_terminal(line), file=sys.stderr)
                return click.confirm(f"toolc: {escape_for_terminal(question)}", default=False, err=True)
            finally:
                self._resume()

    def delaying(self, listener: Listener) -> Listener:
        """Wrap ``listener`` so that events during a question are delayed until it is answered."""

        def listen(event: Event) -> None:
            with self._screen:
                if self._is_asking:
                    self._delayed.append(partial(listener, event))
                else:
                    listener(event)

        return listen

    def _resume(self) -> None:
        with self._screen:
            self._is_asking = False
            delayed, self._delayed = self._delayed, []
            for deliver in delayed:
                deliver()


def confirmation(prompts: Prompts, *, yes: bool) -> Confirm | None:
    """Return the confirmation callback, or None if no user can be asked. ``yes`` confirms in advance."""

    def ask(call: BoundCall) -> Allow | Deny:
        shown = json.dumps(call.arguments, indent=2, ensure_ascii=False)
        if call.question:
            is_sent = prompts.ask([f"{call.tool.name}: {call.question}", shown], "Answer with these values?")
            return Allow(call.arguments) if is_sent else Deny()
        question = f"{call.tool.name} needs confirmation. Run it with these arguments?"
        return Allow() if prompts.ask([f"{call.tool.name} {shown}"], question) else Deny()

    if yes:
        return lambda _: Allow()
    return ask if prompts.is_available else None


class CommitPrompt:
    """Asks whether to commit the workspace changes of one call."""

    def __init__(self, prompts: Prompts, *, yes: bool) -> None:
        """Create the prompt. With ``yes``, the answer is yes without asking."""
        self._prompts = prompts
        self._yes = yes
        self.was_asked = False

    def callback(self) -> ApproveChanges | None:
        """Return the callback that decides, or None if no user can be asked."""
        if self._yes:
            return lambda _: True
        return self._ask if self._prompts.is_available else None

    def _ask(self, proposal: Proposal) -> bool:
        """Show the proposed changes, and return whether the user accepts them."""
        self.was_asked = True
        changes = proposal.changes[:MAX_SHOWN]
        lines = [
            _line(_SIGNS[change.action], change.display_path, _about(change.action, change.kind, change.size_bytes))
            for change in changes
        ]
        lines += _rest(len(proposal.changes))
        would = f"{proposal.tool} would make {_count(len(proposal.changes))} in {proposal.workspace}."
        return self._prompts.ask(lines, f"{would} Continue?")


def print_changes(result: ToolResult, *, listed: bool) -> None:
    """Print the call's changes on stderr, unless already ``listed``, and whether they were committed."""
    changes = result.details.get("changes")
    if not isinstance(changes, dict):
        return
    total = changes.get("total")
    assert isinstance(total, int)
    if not listed:
        _print_changes(changes)
        for line in _rest(total):
            print(line, file=sys.stderr)
    if changes.get("committed") is True:
        note(f"committed {_count(total)} to the workspace")
    elif result.is_error:
        note(f"discarded {_count(total)}; the workspace is unchanged")
        if changes.get("reason") == NO_APPROVER:
            note("run the command on a terminal to confirm, or add --yes to allow the changes")
    else:
        note(escape_for_terminal(f"the workspace is unchanged: {changes.get('reason')}"))


def _print_changes(changes: JsonObject) -> None:
    left = MAX_SHOWN
    for action, sign in _SIGNS.items():
        listed = changes.get(action)
        for change in listed[:left] if isinstance(listed, list) else []:
            assert isinstance(change, dict)
            left -= 1
            about = _about(action, str(change.get("kind")), change.get("size_bytes"))
            print(_line(sign, str(change["path"]), about), file=sys.stderr)


def _about(action: str, kind: str, size_bytes: JsonValue) -> str:
    if kind != "file":
        return kind
    return "" if action == "deleted" else f"{size_bytes} bytes"


def _line(sign: str, path: str, about: str) -> str:
    # One line per path, whatever characters the name contains.
    shown = escape_for_terminal(path).replace("\n", "\\n").replace("\t", "\\t")
    return f"  {sign} {shown}" + (f" ({about})" if about else "")


def _rest(total: int) -> list[str]:
    return [f"  and {total - MAX_SHOWN} more"] if total > MAX_SHOWN else []


def _count(number: int) -> str:
    return "this change" if number == 1 else f"these {number} changes"
