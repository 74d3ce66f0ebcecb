"""The time of one call, next to other ways to run a small program, for 1, 8 and 32 concurrent callers.

With more than one caller, all of them call at the same time, and as many warm sandboxes wait before. No test fails
because of a time.
"""

from contextlib import ExitStack
from pathlib import Path

import pytest
from interleaved import latencies
from peers import peers
from recording import record
from toolc_calls import bare_runtime, cold, engines, warm


@pytest.mark.timeout(7200)
@pytest.mark.parametrize("callers", [1, 8, 32])
def test_the_time_of_a_call(callers: int, calls: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # A tool in Python needs no sandbox of its own kind: with many callers one tool is enough.
    tools = ("echo", "word") if callers == 1 else ("echo",)
    with ExitStack() as stack:
        subjects, skipped = stack.enter_context(peers(tmp_path, callers))
        for engine in engines():
            if engine == "oci" and callers == 1:
                subjects.append(stack.enter_context(bare_runtime()))
            for tool in tools:
                subjects.append(stack.enter_context(warm(tmp_path, engine, tool, callers)))
                subjects.append(stack.enter_context(cold(tmp_path, engine, tool)))
        found = latencies(subjects, callers, calls)
    with capsys.disabled():
        record(f"latency-{callers}", calls, [*found, *skipped])
