"""``toolc run``: run one call. Its content goes to stdout, everything else to stderr."""

from __future__ import annotations

import contextlib
import json
import sys
import time
from typing import TYPE_CHECKING, Final

import click

from toolc.cli.call_options import CallOptions, call_options
from toolc.cli.common import CANNOT, builtin_option, duration, note
from toolc.cli.inputs import read_arguments, read_claims, user_configuration
from toolc.cli.output.live import Live, LiveDisplay
from toolc.cli.output.prompts import CommitPrompt, Prompts, confirmation, print_changes
from toolc.cli.output.result import print_content, print_details, print_timing
from toolc.model.errors import UsageError
from toolc.sandbox.selection import begin_probe

if TYPE_CHECKING:
    from toolc.model.events import Event, Stream
    from toolc.model.json_schema import JsonObject
    from toolc.model.result import ToolResult
    from toolc.model.spec.tool import ToolSpec


TOOL_FAILED: Final = 1
"""The exit code if the tool ran or was stopped, and its result is an error."""


@click.command("run")
@click.argument("target", metavar="TARGET")
@click.option("--registry", metavar="FILE", help="Take the tool TARGET from this registry.")
@builtin_option
@click.option("--args", metavar="JSON|@FILE|-", help="The arguments: a JSON object, @FILE with one, or - for stdin.")
@click.option(
    "--arg", "pairs", multiple=True, metavar="NAME=VALUE", help="One argument, as JSON unless its type is string."
)
@click.option(
    "--caller", multiple=True, metavar="NAME=VALUE", help="A claim about the caller, for parameters with 'from'."
)
@click.option("--workspace", metavar="DIR", default=".", help="The workspace.  [default: the current folder]")
@click.option("--timeout", callback=duration, metavar="10s", help="Lower the timeout of the spec. It cannot be raised.")
@call_options
@click.option("--json", "as_json", is_flag=True, help="Print the whole result as JSON.")
@click.option("--events", "as_events", is_flag=True, help="Print events while the call runs, one JSON object per line.")
@click.option("--yes", is_flag=True, help="Assume yes to all prompts.")
@click.option("--explain-network", is_flag=True, help="Show each connection, with the line of the spec that allows it.")
@click.option("--timing", is_flag=True, help="Print the duration of each phase of the call on stderr.")
def command(  # noqa: PLR0913, PLR0917  one parameter per option
    target: str,
    registry: str | None,
    builtin: str | None,
    args: str | None,
    pairs: tuple[str, ...],
    caller: tuple[str, ...],
    workspace: str,
    timeout: float | None,
    options: CallOptions,
    as_json: bool,
    as_events: bool,
    yes: bool,
    explain_network: bool,
    timing: bool,
) -> None:
    """Run one call of a tool in a new sandbox.

    TARGET is a spec file (SPEC#NAME if it has several tools) or, with --registry or --builtin, the name of a tool. The
    sandbox has access to nothing on this machine except the workspace, if the tool needs one.
    """
    started = time.perf_counter()
    if as_json and as_events:
        raise UsageError("--json and --events cannot be combined; the last line of --events has the result")
    configuration = user_configuration()
    begin_probe(options.engine or configuration.engine)
    # Start-up time: these modules are imported while the daemon responds.
    from toolc.cli.targets import find_registry
    from toolc.client.executor import Executor

    tools = find_registry(target, registry, builtin)
    (tool,) = tools
    arguments = _arguments(tool, args, pairs, as_json=as_json, as_events=as_events)
    claims = read_claims(caller)
    live = Live(_live_outputs(tool))
    prompts = Prompts(live.close)
    show = None if as_json else prompts.delaying(_print_event if as_events else live.show)
    load_ms = (time.perf_counter() - started) * 1000
    commit_prompt = CommitPrompt(prompts, yes=yes)
    executor = options.bound_to(Executor, configuration=configuration)(
        tools, workspace=workspace, timeout=timeout, approve_changes=commit_prompt.callback(),
        confirm=confirmation(prompts, yes=yes), pool=None,
    )  # fmt: skip
    with executor, contextlib.closing(live):
        result = executor.run(tool.name, arguments, on_event=show, caller=claims)
    if as_json:
        _print_json(result)
    elif not as_events:  # the last event has the result
        _print_text(result, live, changes_were_listed=commit_prompt.was_asked)
    if explain_network and _ran(result):
        from toolc.cli.output.connections import explain

        explain(result, tool, target if registry is None and builtin is None else None)
    if timing:
        print_timing(result, load_ms)
    if result.is_error:
        raise click.exceptions.Exit(TOOL_FAILED if _ran(result) else CANNOT)


def _arguments(
    tool: ToolSpec, given: str | None, pairs: tuple[str, ...], *, as_json: bool, as_events: bool
) -> JsonObject:
    """Return the arguments of the call. Raises ``UsageError``, after printing it as the result for a program."""
    from toolc.model.events import ToolEnd
    from toolc.model.result import failure

    try:
        return read_arguments(given, pairs, tool.parameters)
    except UsageError as error:
        refused = failure("invalid_args", str(error))
        if as_json:
            _print_json(refused)
        elif as_events:
            _print_event(ToolEnd(name=tool.name, call_id="", result=refused))
        raise


def _live_outputs(tool: ToolSpec) -> dict[Stream, LiveDisplay]:
    """Return the streams to show during the call: the start of the result or, on a terminal, everything."""
    limit = tool.sandbox.limits.output_bytes // 2
    outputs: dict[Stream, LiveDisplay] = {}
    if tool.retry:
        return outputs  # output of a failed attempt is not part of the result
    result = tool.result
    if result.format == "text" and not result.select and not result.template:
        if tool.backend.tag == "shell":
            outputs["stdout"] = LiveDisplay(limit, sys.stdout)
        elif sys.stdout.isatty():
            # The return value decides whether this is the result, so show it only to a user.
            outputs["content"] = LiveDisplay(limit, sys.stdout)
    if sys.stderr.isatty():
        outputs["stderr"] = LiveDisplay(limit, sys.stderr)
    return outputs


def _print_event(event: Event) -> None:
    from toolc.client.serialization import event_to_json  # start-up time

    print(json.dumps(event_to_json(event)), flush=True)


def _print_json(result: ToolResult) -> None:
    from toolc.client.serialization import result_to_json  # start-up time

    print(json.dumps(result_to_json(result), indent=2))


def _print_text(result: ToolResult, live: Live, *, changes_were_listed: bool) -> None:
    """Print why the call did not run, or its result without the output that was shown while it ran."""
    if not _ran(result):
        note(result.text)
        return
    noted = live.written("stderr")
    print_content(result, live.written("stdout", "content"), noted)
    print_details(result, noted)
    print_changes(result, listed=changes_were_listed)


def _ran(result: ToolResult) -> bool:
    return "duration_ms" in result.details
