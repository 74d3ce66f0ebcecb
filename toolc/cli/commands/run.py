"""``toolc run``: one call, its content on stdout, everything else on stderr."""

from __future__ import annotations

import contextlib
import json
import sys
import time
from typing import TYPE_CHECKING, Final

import click

from toolc.cli.common import (
    CANNOT,
    approved,
    central_policy,
    duration,
    engine_option,
    lock_options,
    note,
    policy_option,
    secret_store,
    secrets_option,
    user_configuration,
)
from toolc.cli.output.live import Live, LiveDisplay
from toolc.cli.output.prompts import Question, Questions, confirmation, print_changes
from toolc.cli.output.result import print_content, print_rest, print_timing
from toolc.model.errors import UsageError

if TYPE_CHECKING:
    from toolc.model.events import Event, Stream
    from toolc.model.spec.tool import ToolSpec


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
@secrets_option
@lock_options
@policy_option
@click.option("--json", "as_json", is_flag=True, help="Print the whole result as JSON.")
@click.option("--events", "as_events", is_flag=True, help="Print events as they come, each a line of JSON.")
@click.option("--yes", is_flag=True, help="Answer what would be asked: run it, and change the workspace.")
@click.option("--explain-network", is_flag=True, help="Show each connection, and the line of the spec it is about.")
@click.option("--timing", is_flag=True, help="Show where the time of the call went, on stderr.")
def command(  # noqa: PLR0913, PLR0917  one parameter per option
    target: str,
    registry: str | None,
    args: str | None,
    pairs: tuple[str, ...],
    workspace: str,
    engine: str | None,
    timeout: float | None,
    secrets: str | None,
    locked: bool,
    lock_file: str | None,
    policy_file: str | None,
    as_json: bool,
    as_events: bool,
    yes: bool,
    explain_network: bool,
    timing: bool,
) -> None:
    """Run one call of a tool in a sandbox of its own.

    TARGET is a spec file (SPEC#NAME where it holds several tools), or with --registry a tool's name.
    The sandbox sees nothing of this machine but the workspace, if the tool asks for one.
    """
    started = time.perf_counter()
    if as_json and as_events:
        raise UsageError("--json prints one result and --events many lines, of which the last holds it; choose one")
    from toolc.cli.arguments import find_registry, read_arguments
    from toolc.client.executor import Executor  # start-up time
    from toolc.client.serialization import result_to_json  # start-up time
    from toolc.model.events import ToolEnd
    from toolc.model.result import failure

    lock = approved(lock_file, locked=locked)
    policy = central_policy(policy_file)
    found = find_registry(target, registry)
    (tool,) = found
    try:
        arguments = read_arguments(args, pairs, tool.parameters)
    except UsageError as error:
        refused = failure("invalid_args", str(error))
        if as_json:
            print(json.dumps(result_to_json(refused), indent=2))
        elif as_events:
            _print_event(ToolEnd(name=tool.name, call_id="", result=refused))
        raise
    live = Live(_live_outputs(tool))
    questions = Questions(live.close)
    show = None if as_json else questions.behind(_print_event if as_events else live.show)
    load_ms = (time.perf_counter() - started) * 1000
    question = Question(questions, yes=yes)
    configuration = user_configuration()
    executor = Executor(
        found,
        workspace=workspace,
        engine=engine,
        timeout=timeout,
        configuration=configuration,
        secrets=secret_store(secrets, configuration),
        approve_changes=question.ask(),
        confirm=confirmation(questions, yes=yes),
        lock=lock,
        policy=policy,
    )
    with executor, contextlib.closing(live):
        result = executor.run(tool.name, arguments, on_event=show)
    ran = "duration_ms" in result.details
    if as_json:
        print(json.dumps(result_to_json(result), indent=2))
    elif as_events:
        pass  # the last event was the result
    elif ran:
        noted = live.shown("stderr")
        print_content(result, live.shown("stdout", "content"), noted)
        print_rest(result, noted)
        print_changes(result, listed=question.was_asked)
    else:
        note(result.text)
    if explain_network and ran:
        from toolc.cli.output.result import explain  # start-up time

        explain(result, tool, target, registry)
    if timing:
        print_timing(result, load_ms)
    if result.is_error:
        raise click.exceptions.Exit(TOOL_FAILED if ran else CANNOT)


def _live_outputs(tool: ToolSpec) -> dict[Stream, LiveDisplay]:
    """Which streams are shown as they come: what the result begins with, and to a person all that is said."""
    limit = tool.sandbox.limits.output_bytes // 2
    outputs: dict[Stream, LiveDisplay] = {}
    if tool.retry:
        return outputs  # an attempt that another one follows is no part of the result
    result = tool.result
    if result.format == "text" and not result.select and not result.template:
        if tool.backend.tag == "shell":
            outputs["stdout"] = LiveDisplay(limit, sys.stdout)
        elif sys.stdout.isatty():
            # Whether it is the result depends on what the function returns; a person will see.
            outputs["content"] = LiveDisplay(limit, sys.stdout)
    if sys.stderr.isatty():
        outputs["stderr"] = LiveDisplay(limit, sys.stderr)
    return outputs


def _print_event(event: Event) -> None:
    from toolc.client.serialization import event_to_json  # start-up time

    print(json.dumps(event_to_json(event)), flush=True)
