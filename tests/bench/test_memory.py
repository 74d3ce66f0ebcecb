"""What a sandbox that waits for a call takes from ``MemAvailable``. Other programs disturb it: it is a median."""

import statistics
import time
from pathlib import Path

import pytest
from figures import FULL, Single
from recording import record
from targets import MIB
from toolc_calls import engines, warm

from toolc.sandbox.host.kernel import available_memory

SANDBOXES = 16
ROUNDS = 5
SETTLE_SECONDS = 1.0
"""How long to wait until the kernel has released, and guests have imported, what they do in the background."""


def available() -> int:
    time.sleep(SETTLE_SECONDS)
    return available_memory()


@pytest.mark.timeout(1800)
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_the_memory_of_an_idle_sandbox(calls: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    figures = []
    rounds = ROUNDS if calls >= FULL else 1
    for engine in engines():
        found = []
        for turn in range(rounds + 1):
            # One sandbox first: what an engine needs only once does not count.
            with warm(tmp_path, engine, "echo", 1) as one:
                one.rest()
                before = available()
                with warm(tmp_path, engine, "echo", SANDBOXES) as many:
                    many.rest()
                    if turn:
                        found.append((before - available()) / SANDBOXES / MIB)
        value = statistics.median(found)
        each = ", ".join(f"{one:.1f}" for one in found)
        details = (
            f"{engine}: {value:.1f} MiB of `MemAvailable` for each of {SANDBOXES} waiting sandboxes (rounds: {each})"
        )
        figures.append(Single(name=f"idle {engine}", value=value, details=details))
    with capsys.disabled():
        record("memory", calls, figures)
