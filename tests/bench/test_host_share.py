"""What toolc itself takes of a call, compared with starting a small program.

A call to an engine that starts nothing shows it without the noise of sandboxes: the stages of ``details.timing_ms``
that belong to toolc, and the processor time of the calling thread. Run with ``make bench``; no test fails because of a
time.
"""

import statistics
import subprocess
from pathlib import Path
from time import perf_counter, thread_time

import pytest
from targets import judged
from toolc_calls import SPEC

from toolc import Executor, Registry
from toolc.model.result import Capture, Outcome
from toolc.testing.fake_engine import FakeEngine

ROUNDS = 500
STAGES = ("bind", "plan", "choose", "frames", "read")
"""The stages in which toolc works, and neither an engine nor a guest does."""


def test_the_share_of_toolc_in_a_call(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec = tmp_path / "bench.yaml"
    spec.write_text(SPEC, encoding="utf-8")
    engine = FakeEngine(lambda _: Outcome(ending="exited", stdout=Capture(b"hello\n", b"", 6), processes_ended=True))
    stages: dict[str, list[float]] = {name: [] for name in STAGES}
    threads, programs = [], []
    with Executor(Registry.load(spec), engine=engine, pool=None) as executor:
        for _ in range(ROUNDS):
            used = thread_time()
            timing = executor.run("echo", {}).details["timing_ms"]
            threads.append((thread_time() - used) * 1000)
            assert isinstance(timing, dict)
            for name in STAGES:
                stages[name].append(float(str(timing[name])))
            begun = perf_counter()
            subprocess.run(["/bin/echo", "hello"], capture_output=True, check=True)
            programs.append((perf_counter() - begun) * 1000)
    middle = {name: statistics.median(each) for name, each in stages.items()}
    program = statistics.median(programs)
    with capsys.disabled():
        print("\n  " + ", ".join(f"{name} {value:.3f} ms" for name, value in middle.items()))
        print(f"  thread of the caller {statistics.median(threads):.3f} ms, subprocess.run(echo) {program:.2f} ms")
        ratio = sum(middle.values()) / program
        print(f"  toolc's share: {ratio:.2f} x subprocess.run(echo){judged(ratio, 0.25)}")
