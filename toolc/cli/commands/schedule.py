"""``toolc schedule``: show or run the entries of a schedule that are due.

Tools write the schedule, which is a file in the workspace. It is therefore read in a sandbox.
"""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

import click

from toolc.cli.call_options import CallOptions, call_options
from toolc.cli.common import builtin_option, engine_option, note
from toolc.cli.inputs import user_configuration
from toolc.cli.main import CommandGroup
from toolc.cli.targets import open_tools
from toolc.dataclass import dataclass
from toolc.model.errors import ToolcError, UsageError
from toolc.reporters.text import escape_for_terminal

if TYPE_CHECKING:
    from toolc.client.executor import Executor
    from toolc.model.json_schema import JsonObject, JsonValue

FAILED: Final = 1
"""The exit code if a run failed."""

_MAX_MESSAGE: Final = 200
"""The maximum number of characters of a result in the line of an entry. ``--json`` prints the whole result."""

_STORE: Final = "schedule.sqlite"


@dataclass(frozen=True, slots=True, kw_only=True)
class DueEntry:
    """An entry that is due. ``missed`` is the number of its later runs that are due as well."""

    id: int
    what: str
    due: str
    missed: int
    tool: str | None
    arguments: JsonObject

    def to_json(self) -> JsonObject:
        """Return the entry as an object for ``--json``."""
        names: JsonObject = {"id": self.id, "what": self.what, "due": self.due, "missed": self.missed}
        return names | {"tool": self.tool, "arguments": self.arguments}

    def as_line(self) -> str:
        """Return the entry on one line."""
        more = f" ({self.missed} more missed)" if self.missed else ""
        return f"{self.id}  {self.due}  {' '.join(self.what.split())}{more}"


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """Whether the run of an entry succeeded, and its result on one line. ``result`` is the result of a tool."""

    is_success: bool
    message: str
    result: JsonValue = None


Run: TypeAlias = "Callable[[DueEntry], RunOutcome]"


@click.group("schedule", cls=CommandGroup)
def command() -> None:
    """Show or run the entries of a schedule that are due.

    The built-in tool schedule_create stores the schedule in the file schedule.sqlite of the workspace.
    """


_workspace = click.option(
    "--workspace", metavar="DIR", default=".", help="The folder with the schedule.  [default: the current folder]"
)
_limit = click.option(
    "--limit", type=click.IntRange(1, 1000), default=100, help="The maximum number of entries.  [default: 100]"
)


@command.command("due", short_help="Print the entries that are due.")
@_workspace
@engine_option
@_limit
@click.option("--json", "as_json", is_flag=True, help="Print a list of entries as JSON.")
def due(workspace: str, engine: str | None, limit: int, as_json: bool) -> None:
    """Print the ID, the time in UTC and the task of each entry that is due, without changing the schedule."""
    _note_missing(workspace)
    with _runner("schedule_due", workspace, engine) as executor:
        entries = _entries(executor, "schedule_due", {"limit": limit})
    if as_json:
        print(json.dumps([each.to_json() for each in entries], indent=2, ensure_ascii=False))
        return
    for each in entries:
        print(escape_for_terminal(each.as_line()))


@command.command("run", short_help="Run the entries that are due, each once.")
@click.argument("target", metavar="[TARGET]", required=False)
@builtin_option
@click.option(
    "--exec", "program", metavar="CMD", help="Run this command, without a shell, for each entry (JSON on stdin)."
)
@_workspace
@call_options
@click.option("--deny", "denied", multiple=True, metavar="NAME", help="Do not call this tool. May be repeated.")
@click.option("--yes", is_flag=True, help="Call tools that need confirmation, and commit changes that need approval.")
@_limit
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per entry.")
def run(  # noqa: PLR0913, PLR0917  one parameter per option
    target: str | None,
    builtin: str | None,
    program: str | None,
    workspace: str,
    options: CallOptions,
    denied: tuple[str, ...],
    yes: bool,
    limit: int,
    as_json: bool,
) -> None:
    """Take the due entries from the schedule and run each: with --exec, or by calling its tool in TARGET or --builtin.

    An entry is taken before it runs. Two runners therefore never run it twice, and if this process is killed, it does
    not run again. If several runs of an entry were missed, it runs once. An entry without a tool is only printed. Start
    this command every minute with cron or a systemd timer.
    """
    from toolc.client.executor import Executor  # start-up time
    from toolc.model.call import Allow

    if program is not None and (target is not None or builtin is not None):
        raise UsageError("--exec runs every entry; remove TARGET and --builtin, or --exec")
    if program is not None:
        _run_all(_program(program), workspace, options.engine, limit, as_json=as_json)
        return
    executor = options.bound_to(Executor)(
        open_tools(target, builtin), workspace=workspace, confirm=(lambda _: Allow()) if yes else None,
        approve_changes=(lambda _: True) if yes else None,
    )  # fmt: skip
    with executor:
        for name in denied:
            executor.deny(name)
        _run_all(lambda entry: _call(executor, entry), workspace, options.engine, limit, as_json=as_json)


def _note_missing(workspace: str) -> None:
    """Report a workspace without a schedule, because it may be the wrong folder."""
    if Path(workspace).is_dir() and not Path(workspace, _STORE).exists():
        note(f"there is no {_STORE} in {workspace}")


def _run_all(run_entry: Run, workspace: str, engine: str | None, limit: int, *, as_json: bool) -> None:
    """Take each due entry, run it, and print its outcome at once. Exits with ``FAILED`` if a run failed."""
    has_failed = False
    _note_missing(workspace)
    for entry in _taken(workspace, engine, limit):
        outcome = run_entry(entry)
        has_failed |= not outcome.is_success
        if as_json:
            values = {"entry": entry.to_json(), "ok": outcome.is_success, "message": outcome.message}
            print(json.dumps(values | {"result": outcome.result}, ensure_ascii=False), flush=True)
        else:
            parts = (entry.as_line(), "ok" if outcome.is_success else "FAILED", outcome.message)
            print(escape_for_terminal(": ".join(part for part in parts if part)), flush=True)
    if has_failed:
        raise click.exceptions.Exit(FAILED)


def _taken(workspace: str, engine: str | None, limit: int) -> Iterator[DueEntry]:
    """Take the due entries one by one, so that a killed runner loses only the entry that it was running."""
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")  # entries that become due during the runs have to wait
    with _runner("schedule_take", workspace, engine) as executor:
        for _ in range(limit):
            entries = _entries(executor, "schedule_take", {"limit": 1, "now": now})
            if not entries:
                return
            yield from entries


def _entries(executor: Executor, name: str, arguments: JsonObject) -> tuple[DueEntry, ...]:
    """Call one of the tools that read the schedule. If it fails, raises ``UsageError`` with its message."""
    result = executor.run(name, arguments)
    if result.error is not None:
        raise UsageError(result.error.message)
    data = result.data
    assert isinstance(data, dict)  # the schema of the result says so
    assert isinstance(data["entries"], list)
    return tuple(_entry(each) for each in data["entries"])


def _entry(value: JsonValue) -> DueEntry:
    """Return an entry of a result that matches the tool's result schema."""
    assert isinstance(value, dict)
    tool, arguments = value["tool"], value["arguments"]
    return DueEntry(
        id=int(str(value["id"])), what=str(value["what"]), due=str(value["due"]), missed=int(str(value["missed"])),
        tool=tool if isinstance(tool, str) else None, arguments=arguments if isinstance(arguments, dict) else {},
    )  # fmt: skip


@contextmanager
def _runner(name: str, workspace: str, engine: str | None) -> Iterator[Executor]:
    from toolc.client.executor import Executor  # start-up time
    from toolc.client.registry import Registry
    from toolc.data.paths import packaged_path

    registry = Registry.load(packaged_path("specs") / "schedule_runner.yaml").only(name)
    with Executor(registry, workspace=workspace, engine=engine, configuration=user_configuration()) as executor:
        yield executor


def _program(text: str) -> Run:
    """Return the function that runs a command. Raises ``UsageError`` if there is no such program."""
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise UsageError(f"--exec {text!r:.80} is not a command: {error}") from None
    if not words or shutil.which(words[0]) is None:
        raise UsageError(f"--exec: there is no program {' '.join(words[:1])!r:.80}")

    def run_entry(entry: DueEntry) -> RunOutcome:
        line = json.dumps(entry.to_json(), ensure_ascii=False) + "\n"
        try:
            done = subprocess.run(words, input=line, encoding="utf-8", check=False)
        except OSError as error:
            return RunOutcome(is_success=False, message=f"{words[0]}: {error.strerror}")
        return RunOutcome(is_success=done.returncode == 0, message=f"exit status {done.returncode}")

    return run_entry


def _call(executor: Executor, entry: DueEntry) -> RunOutcome:
    """Call the tool of an entry. If toolc cannot run it, only this entry fails."""
    from toolc.client.serialization import result_to_json  # start-up time

    if entry.tool is None:
        return RunOutcome(is_success=True, message="it has no tool to call")
    try:
        result = executor.run(entry.tool, entry.arguments)
    except ToolcError as error:
        return RunOutcome(is_success=False, message=str(error))
    kind = f"{result.error.kind}: " if result.error else ""
    words = f"{kind}{' '.join(result.text.split())}"[:_MAX_MESSAGE]
    return RunOutcome(not result.is_error, words, result_to_json(result))
