"""``toolc batch``: run the calls of a file. The results go to a file, and the progress to stderr."""

from __future__ import annotations

import hashlib
import json
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Final

import click

from toolc.cli.call_options import CallOptions, call_options
from toolc.cli.common import CANNOT, builtin_option, deny_option, note
from toolc.cli.inputs import print_image_log
from toolc.cli.targets import open_tools, refuse_disallowed, refuse_unapproved
from toolc.model.errors import UsageError

if TYPE_CHECKING:
    from toolc.batch.calls_file import CallsFile
    from toolc.batch.journal import Record
    from toolc.batch.runner import Runner
    from toolc.cli.output.batch_progress import Progress, Summary
    from toolc.client.executor import Executor
    from toolc.client.registry import Registry
    from toolc.model.json_schema import JsonObject

NOT_OK: Final = 1
"""The exit code if a call has no successful result."""

INTERRUPTED: Final = 130
"""The exit code after Ctrl-C, as in shells."""

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@click.command("batch")
@click.argument("target", metavar="[TARGET]", required=False)
@click.argument("calls_path", metavar="CALLS.jsonl", required=False)
@click.option(
    "--out", required=True, metavar="RESULTS.jsonl", help="The file for the results. If it exists, the batch resumes."
)
@click.option("--address", metavar="auto|HOST:PORT", help="Run the calls on the nodes of this Ray cluster.")
@click.option("--concurrency", type=click.IntRange(1, 1000), help="The maximum number of concurrent calls.")
@click.option("--in-order", is_flag=True, help="Put the results in the order of the calls at the end.")
@click.option("--rerun-unknown", is_flag=True, help="Run calls of unknown outcome again.")
@click.option("--workspace", metavar="DIR", help="The workspace of calls that name none.  [default: .]")
@click.option("--shared-workspace", metavar="DIR", help="With --address: a folder at the same path on all nodes.")
@deny_option
@click.option("--yes", is_flag=True, help="Allow calls that must be confirmed, and apply proposed changes.")
@builtin_option
@call_options
def command(  # noqa: PLR0913  one parameter per option
    target: str | None,
    calls_path: str | None,
    *,
    out: str,
    address: str | None,
    concurrency: int | None,
    in_order: bool,
    rerun_unknown: bool,
    workspace: str | None,
    shared_workspace: str | None,
    denied: tuple[str, ...],
    yes: bool,
    builtin: str | None,
    options: CallOptions,
) -> None:
    """Run the calls of a file, each at most once.

    TARGET is a spec file, a folder of specs, or a registry.json. Each line of CALLS.jsonl is an object with the keys
    id, tool and arguments, and optionally workspace, session, timeout and caller. After a crash or Ctrl-C, the same
    command runs the calls that have not started.
    """
    from toolc.batch.calls_file import CallsFile  # start-up time
    from toolc.batch.journal import Journal
    from toolc.batch.runner import Runner
    from toolc.cli.output.batch_progress import CheckProgress, Progress, Summary
    from toolc.serve.offered import check_denied, deny

    if calls_path is None and builtin is not None:
        target, calls_path = None, target
    registry = open_tools(target, builtin)
    if calls_path is None:
        raise UsageError("CALLS.jsonl is missing; pass a file with one call on each line")
    if options.lock is not None:
        refuse_unapproved(options.lock, registry)
    if options.policy is not None:
        refuse_disallowed(options.policy, registry)
    check_denied(registry, denied)
    calls = CallsFile(Path(calls_path), registry.registered, CheckProgress())
    summary = Summary()
    progress = Progress(calls.count, summary)

    def repeats(tool: str) -> bool:
        return rerun_unknown or registry.registered(tool).spec.annotations.idempotent is True

    def is_kept(record: Record) -> bool:
        return record.status != "unknown" or not repeats(record.tool)

    def ended(record: Record) -> None:
        summary.add(record)
        progress.show()

    executor = _executor(registry, address, options, workspace, shared_workspace, yes=yes)
    try:
        with executor, Journal(Path(out), _identity(registry, calls), is_kept, ended) as journal:
            deny(executor, denied)
            runner = Runner(calls, journal, executor, concurrency or executor.max_parallel)
            with progress, _stopping(runner, progress):
                runner.run(repeats)
            if in_order:
                journal.sort()
    except OSError as error:
        raise UsageError(f"{out} cannot be written: {error.strerror}; fix this, and repeat the command") from None
    progress.print_summary()
    if code := _explained(summary, calls.count, runner.failure):
        raise click.exceptions.Exit(code)


def _explained(summary: Summary, count: int, failure: str | None) -> int:
    """Print what to do about calls without a result, and return the exit code."""
    if summary.outcomes["unknown"]:
        note("calls of unknown outcome may have run; to run them again, add --rerun-unknown")
    if failure is not None:
        note(failure)
    if left := count - summary.ended:
        note(f"{left:,} calls have not run; to run them, repeat the command")
    if failure is not None:
        return CANNOT
    return INTERRUPTED if left else NOT_OK if summary.not_ok else 0


def _executor(
    registry: Registry, address: str | None, options: CallOptions, workspace: str | None, shared: str | None, *,
    yes: bool,
) -> Executor:  # fmt: skip
    """Return the executor of this machine, or of the cluster at ``address``. Raises ``UsageError``."""
    from toolc.client.executor import Executor  # start-up time
    from toolc.model.call import Allow

    confirm = (lambda _: Allow()) if yes else None
    approve = (lambda _: True) if yes else None
    if address is None:
        if shared is not None:
            raise UsageError("--shared-workspace needs --address; on this machine, use --workspace")
        return options.bound_to(Executor)(
            registry, workspace=workspace or ".", confirm=confirm, approve_changes=approve
        )
    from toolc.cluster.ray_executor import RayExecutor  # an optional extra

    print_image_log()
    if options.secrets is not None:
        raise UsageError("--secrets cannot be combined with --address, because each node looks up secrets itself")
    return RayExecutor(
        registry, address=address, workspace=workspace or shared or ".", shared_workspace=shared, engine=options.engine,
        confirm=confirm, approve_changes=approve, lock=options.lock, policy=options.policy,
    )  # fmt: skip


def _identity(registry: Registry, calls: CallsFile) -> JsonObject:
    """Return the identity of a batch: its calls, and the tools with all their permissions."""
    tools = {name: registry.registered(name).effect_digest for name in registry.names}
    digest = hashlib.sha256(json.dumps(tools, sort_keys=True).encode()).hexdigest()
    return {"toolc_batch": 1, "calls": f"sha256:{calls.digest}", "tools": f"sha256:{digest}"}


@contextmanager
def _stopping(runner: Runner, progress: Progress) -> Iterator[None]:
    """Let the first Ctrl-C, SIGTERM or closed terminal stop the runner. The second Ctrl-C or SIGTERM ends the process.

    Its sandboxes end with it. An ignored signal stays ignored, as in a background process or under ``nohup``.
    """
    handled = [each for each in _SIGNALS if signal.getsignal(each) is not signal.SIG_IGN]

    def end(number: int, _: FrameType | None) -> None:
        progress.restore_terminal()
        os._exit(128 + number)

    def stop(_number: int, _: FrameType | None) -> None:
        for each in handled:  # a closed terminal sends SIGHUP more than once
            signal.signal(each, signal.SIG_IGN if each == signal.SIGHUP else end)
        runner.stop()
        progress.say(
            "waiting for the running calls to end; to end them now, press Ctrl-C again. Their outcome is then unknown"
        )

    previous = {each: signal.signal(each, stop) for each in handled}
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
