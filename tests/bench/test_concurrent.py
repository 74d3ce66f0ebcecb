"""A thousand concurrent calls, with the pool as it is by default. All must succeed; no test fails because of a time."""

import statistics
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import perf_counter

import pytest
from figures import FULL, Single
from recording import record
from toolc_calls import engines, registry

from toolc.client.executor import Executor

CALLS = 1000


@pytest.mark.timeout(3600)
def test_a_thousand_concurrent_calls(calls: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    figures = []
    number = CALLS if calls >= FULL else calls
    for engine in engines():
        with Executor(registry(tmp_path), engine=engine) as executor, ThreadPoolExecutor(number) as pool:
            executor.run("echo", {})
            began = perf_counter()

            def call(_: int, executor: Executor = executor, began: float = began) -> float:
                assert executor.run("echo", {}).text == "hello\n"
                return perf_counter() - began

            ended = list(pool.map(call, range(number)))
        rate = number / max(ended)
        details = (
            f"{engine}: {number} concurrent calls, none failed; half of them had ended after "
            f"{statistics.median(ended) / max(ended):.0%} of the time"
        )
        figures.append(Single(name=f"concurrent {engine}", value=rate, details=details))
    with capsys.disabled():
        record("concurrent", calls, figures)
