"""Running tests: several at a time, each call in a sandbox and a workspace of its own, told in order."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

from toolc.client.executor import Executor
from toolc.model.errors import NoEngineError, ToolcError
from toolc.model.events import Event, ToolConnect
from toolc.model.json_schema import JsonValue
from toolc.runtime.cancellation import Cancellation
from toolc.testing.cases import Case, Tested
from toolc.testing.expectations import compare
from toolc.testing.workspace import changes, contents, place, snapshot

__all__ = ["Make", "run_cases"]

Make: TypeAlias = Callable[[Case, Path], Executor]
"""An executor for one test, whose workspace is this folder."""


def run_cases(
    cases: Sequence[Case], make: Make, jobs: int, on_done: Callable[[Tested], None]
) -> Generator[Tested, None, None]:
    """What came of each test, in order, as soon as those before it are over; ``on_done`` hears of each at once.

    To close the iterator, or an interrupt, cancels what runs and waits until its sandboxes are gone. Raises
    ``NoEngineError``, for then no other test can run either.
    """
    with Cancellation() as cancellation, ThreadPoolExecutor(jobs, "toolc test") as threads:
        try:
            # Also what begins them: Ctrl-C comes while a thread starts, too.
            waiting = [threads.submit(_run, case, make, cancellation) for case in cases]
            for future in waiting:
                future.add_done_callback(lambda done: _tell(done, on_done))
            for future in waiting:
                yield future.result()
        except BaseException:
            cancellation.cancel()
            threads.shutdown(wait=False, cancel_futures=True)
            raise


def _tell(done: Future[Tested], on_done: Callable[[Tested], None]) -> None:
    if not done.cancelled() and done.exception() is None:
        on_done(done.result())


def _run(case: Case, make: Make, cancellation: Cancellation) -> Tested:
    started = time.monotonic()
    try:
        with tempfile.TemporaryDirectory(prefix="toolc-test-", ignore_cleanup_errors=True) as folder:
            return _tested(case, make, Path(folder).resolve(), cancellation, started)
    except NoEngineError:
        raise
    except ToolcError as error:
        duration = (time.monotonic() - started) * 1000
        return Tested(case=case, verdict="error", duration_ms=duration, problems=(str(error),), error=error)


def _tested(case: Case, make: Make, workspace: Path, cancellation: Cancellation, started: float) -> Tested:
    place(case.test.files, workspace)
    before = snapshot(workspace)
    attempts: list[JsonValue] = []

    def hears(event: Event) -> None:
        # Also those of the tools that this one calls, which are not in its own result.
        if isinstance(event, ToolConnect):
            attempts.append(event.attempt.to_json())

    with make(case, workspace) as executor:
        result = executor.run(case.tool.name, case.test.args, on_event=hears, cancellation=cancellation)
    result = replace(result, details=result.details | {"network": attempts})
    duration = (time.monotonic() - started) * 1000
    changed = changes(before, snapshot(workspace), result)
    problems = tuple(compare(case.test.expect, result, workspace, changed))
    return Tested(
        case=case,
        verdict="failed" if problems else "passed",
        duration_ms=duration,
        problems=problems,
        result=result,
        changes=changed,
        files=contents(case.test.expect, workspace),
    )
