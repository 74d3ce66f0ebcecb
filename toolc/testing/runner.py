"""Run tests concurrently, each in its own sandbox and workspace, and return the results in order."""

import tempfile
import time
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
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
from toolc.testing.workspace import changes, file_texts, snapshot, write_files

ExecutorFactory: TypeAlias = Callable[[Case, Path], Executor]
"""Returns an executor for one test, with this folder as its workspace."""


def run_cases(cases: Sequence[Case], make_executor: ExecutorFactory, jobs: int) -> Generator[Tested, None, None]:
    """Run up to ``jobs`` tests concurrently and yield their results in order.

    Closing the iterator, or an interrupt, cancels the running calls and waits until their sandboxes are removed. Raises
    ``NoEngineError`` if no test can run.
    """
    with Cancellation() as cancellation, ThreadPoolExecutor(jobs, "toolc test") as threads:
        try:
            # Inside the try block, because Ctrl-C may also arrive while a thread starts.
            waiting = [threads.submit(_run, case, make_executor, cancellation) for case in cases]
            for future in waiting:
                yield future.result()
        except BaseException:
            cancellation.cancel()
            threads.shutdown(wait=False, cancel_futures=True)
            raise


def _run(case: Case, make_executor: ExecutorFactory, cancellation: Cancellation) -> Tested:
    started = time.monotonic()
    try:
        with tempfile.TemporaryDirectory(prefix="toolc-test-", ignore_cleanup_errors=True) as folder:
            return _tested(case, make_executor, Path(folder).resolve(), cancellation, started)
    except NoEngineError:
        raise
    except ToolcError as error:
        duration = (time.monotonic() - started) * 1000
        return Tested(case=case, verdict="error", duration_ms=duration, problems=(str(error),), error=error)


def _tested(
    case: Case, make_executor: ExecutorFactory, workspace: Path, cancellation: Cancellation, started: float
) -> Tested:
    write_files(case.test.files, workspace)
    before = snapshot(workspace)
    attempts: list[JsonValue] = []

    def on_event(event: Event) -> None:
        # Includes connections of called tools, which are not in the result of this one.
        if isinstance(event, ToolConnect):
            attempts.append(event.attempt.to_json())

    with make_executor(case, workspace) as executor:
        result = executor.run(
            case.tool.name, case.test.args, on_event=on_event, cancellation=cancellation, caller=dict(case.test.caller)
        )
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
        files=file_texts(case.test.expect, workspace),
    )
