"""``toolc run``: one call, its content on stdout, everything else on stderr."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Final

import click

from toolc.cli.common import CANNOT, duration, engine_option, note, printable
from toolc.errors import UsageError

if TYPE_CHECKING:
    from toolc.events import Event
    from toolc.result import ToolResult

TOOL_FAILED: Final = 1
"""The exit code where the tool ran, or was stopped, and its result is an error."""


@click.command("run")
@click.argument("target", metavar="TARGET")
@click.option("--registry", metavar="FILE", help="Take TARGET for a tool's name in this registry.")
@click.option("--args", metavar="JSON|@FILE|-", help="The arguments: a JSON object, a file of it, or stdin.")
@click.option("--arg", "pairs", multiple=True, metavar="NAME=VALUE", help="One argument, typed by the schema.")
@click.option("--workspace", metavar="DIR", default=".", help="The folder to work on.  [default: this one]")
@engine_option
@click.option("--timeout", callback=duration, metavar="10s", help="Lowers the spec's limit; never raises it.")
@click.option("--json", "as_json", is_flag=True, help="Print the whole result as JSON.")
def command(  # noqa: PLR0913, PLR0917  one parameter per option
    target: str,
    registry: str | None,
    args: str | None,
    pairs: tuple[str, ...],
    workspace: str,
    engine: str,
    timeout: float | None,
    as_json: bool,
) -> None:
    """Run one call of a tool in a sandbox of its own.

    TARGET is a spec file (SPEC#NAME where it holds several tools), or with --registry a tool's name.
    The sandbox sees nothing of this machine but the workspace, if the tool asks for one.
    """
    from toolc.api import Executor, result_to_json  # start-up time
    from toolc.cli.arguments import read_arguments
    from toolc.cli.target import find_registry
    from toolc.result import failure

    found = find_registry(target, registry)
    (tool,) = found
    try:
        arguments = read_arguments(args, pairs, tool.parameters)
    except UsageError as error:
        if as_json:
            print(json.dumps(result_to_json(failure("invalid_args", str(error))), indent=2))
        raise
    with Executor(found, workspace=workspace, engine=engine, timeout=timeout) as executor:
        result = executor.run(tool.name, arguments, on_event=None if as_json else _show_progress)
    ran = "outcome" in result.details
    if as_json:
        print(json.dumps(result_to_json(result), indent=2))
    elif ran:
        _print_content(result)
        _print_rest(result)
    else:
        note(result.text)
    if result.is_error:
        raise click.exceptions.Exit(TOOL_FAILED if ran else CANNOT)


def _show_progress(event: Event) -> None:
    from toolc.events import ToolUpdate  # start-up time

    if isinstance(event, ToolUpdate):
        percent = "" if event.percent is None else f"{event.percent:3.0f}% "
        print(printable(f"{percent}{event.message}"), file=sys.stderr, flush=True)


def _print_content(result: ToolResult) -> None:
    from toolc.result import Text  # start-up time

    terminal = sys.stdout.isatty()
    for block in result.content:
        if isinstance(block, Text):
            text = printable(block.text) if terminal else block.text
            ended = text if text.endswith("\n") or not terminal else text + "\n"
            sys.stdout.buffer.write(ended.encode("utf-8", "replace"))
        elif terminal:
            note(f"an image of {len(block.data)} bytes ({block.mime_type}); to keep it write: toolc run ... > FILE")
        else:
            sys.stdout.buffer.write(block.data)
    sys.stdout.buffer.flush()


def _print_rest(result: ToolResult) -> None:
    """What is for the person and not for a model: what the tool printed, that it failed, which engine ran it."""
    for stream in ("stdout", "stderr"):
        said = result.details.get(stream)
        if isinstance(said, str) and said:
            text = printable(said) if sys.stderr.isatty() else said
            print(text, end="" if text.endswith("\n") else "\n", file=sys.stderr)
    if result.error:
        # A terminal shows why already, as the content; stdout that goes elsewhere leaves nothing to see.
        why = "" if sys.stdout.isatty() else f": {result.error.message}"
        note(printable(f"the tool failed ({result.error.kind}){why}"))
    notes = result.details.get("engine_notes")
    if isinstance(notes, list):
        note(f"ran with the engine {result.details['engine']!r} ({' '.join(map(str, notes))})")
