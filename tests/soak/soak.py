"""``make soak``: a thousand clients of a server, ten thousand calls of each kind, kills at every step and at random.

``python soak.py --calls 10000 --times 50 --minutes 60 --log FILE`` prints the results after each step, and finally a
table of the times until everything was removed. It continues after problems, but then exits with status 1. With the
same FILE it resumes an interrupted run.
"""

import argparse
import itertools
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from calling import seconds_for
from dying_owner import STEPS
from engines.configurations import CONFIGURATIONS
from killing import DEATHS, Death, lacks, seconds_after_death
from records import Record, Records, Row, line
from served_calls import seconds_for_clients, seconds_with_steady_memory

from toolc.sandbox.docker.api_client import ApiError, NoDaemonError

RANDOM: Final = "at random"
MANY: Final = "1000 calls"
CANCELLED: Final = "1000 calls in cancelled batches"
KILLED: Final = "calls, 1 % killed"
HTTP: Final = "served over HTTP"
LATE: Final = "calls of late writers"
FAST: Final = ("docker", "oci root")
"""The configurations that make the most calls; the others make a tenth as many."""

LONGEST_SECONDS: Final = 6.0
"""The maximum life of an owner that is killed at random."""

REPORT_EVERY: Final = 20
"""The number of random kills between two reports."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Soak:
    """One run over the available configurations."""

    records: Records
    names: Sequence[str]

    def many_calls(self) -> None:
        """Make a thousand concurrent calls twice, and a thousand in batches that are cancelled at random."""
        for name in self.names:
            self._once((name, MANY, ""), partial(seconds_for, name, 1000, 1000))
            self._once((name, CANCELLED, ""), partial(seconds_for, name, 1000, 12, "cancelled_calls.py"))

    def long_runs(self, calls: int) -> None:
        """Make many calls by three processes that are killed at random, and many that try to write after their end."""
        for name in self.names:
            count = calls if name in FAST else calls // 10
            self._once((name, KILLED, ""), partial(seconds_for, name, count, 4, "killed_calls.py", owners=3))
            self._once((name, LATE, ""), partial(seconds_for, name, count, 4, "late_calls.py"))

    def served(self, clients: int, calls: int) -> None:
        """Serve many clients over HTTP, and many calls of a tool with ``lifetime: fork``."""
        self._once((HTTP, f"{clients} clients", ""), partial(seconds_for_clients, clients))
        if "oci root" in self.names:
            self._once((HTTP, f"{calls} calls, memory", ""), partial(seconds_with_steady_memory, calls))

    def walk(self, times: int, death: Death) -> None:
        """Kill at every step this many times."""
        for name in self.names:
            for step in STEPS:
                row = (name, step, death)
                for _ in range(times - len(self.records.of(row))):
                    self._do(row, partial(seconds_after_death, name, step, death))
                self._report(row)

    def at_random(self, minutes: float, seed: int) -> None:
        """Kill at random moments in random configurations for some minutes."""
        rows = [(name, death) for name in self.names for death in DEATHS]
        done = [record for name, death in rows for record in self.records.of((name, RANDOM, death))]
        spent = sum(record.took for record in done)
        moments, numbers = random.Random(f"{seed} {len(done)}"), itertools.count(1)
        while rows and spent < minutes * 60:
            name, death = moments.choice(rows)
            life = moments.uniform(0.05, LONGEST_SECONDS)
            measure = partial(seconds_after_death, name, RANDOM, death, kill_after=life)
            spent += self._do((name, RANDOM, death), measure).took
            if next(numbers) % REPORT_EVERY == 0:
                say(f"{spent / 60:.1f} of {minutes:.0f} minutes at random")
                for each, dead in rows:
                    self._report((each, RANDOM, dead))

    def _once(self, row: Row, work: Callable[[], float]) -> None:
        if not self.records.of(row):
            self._do(row, work)
            self._report(row)

    def _do(self, row: Row, measure: Callable[[], float]) -> Record:
        name, step, death = row
        began, seconds, wrong = time.monotonic(), 0.0, ""
        try:
            seconds = measure()
        except (AssertionError, ApiError, NoDaemonError, OSError, subprocess.SubprocessError) as error:
            wrong = f"{type(error).__name__}: {error}"
            say(f"LEFT BEHIND: {name}, {step}, {death}\n{wrong}")
        took = time.monotonic() - began
        record = Record(configuration=name, step=step, death=death, seconds=seconds, took=took, wrong=wrong)
        self.records.add(record)
        return record

    def _report(self, row: Row) -> None:
        if records := self.records.of(row):
            say(line(records))


def say(text: str) -> None:
    """Print a line with the time of day."""
    print(f"{time.strftime('%H:%M:%S')} {text}", flush=True)


def main() -> None:
    """Parse the options and run everything."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--calls", type=int, default=10_000, help="the calls of each long run")
    parser.add_argument("--clients", type=int, default=1000, help="the clients of a server over HTTP")
    parser.add_argument("--times", type=int, default=50, help="kills of the owner at each step")
    parser.add_argument(
        "--janitor-times", type=int, default=10, help="kills of owner and janitor at each step, for each cleanup"
    )
    parser.add_argument("--minutes", type=float, default=60.0, help="the minutes of random kills afterwards")
    parser.add_argument("--seed", type=int, default=0, help="the seed of the random moments")
    parser.add_argument("--log", type=Path, help="the file for results, from which to resume")
    parser.add_argument(
        "--only", action="append", choices=list(CONFIGURATIONS), help="only this configuration; may be repeated"
    )
    options = parser.parse_args()
    log = options.log or Path(tempfile.mkdtemp(prefix="toolc-soak-log-")) / "log"
    say(f"results are stored in {log}")
    names = [name for name in options.only or CONFIGURATIONS if not is_missing(name)]
    soak = Soak(records=Records(log), names=names)
    try:
        soak.served(options.clients, 2 * options.calls)
        soak.many_calls()
        soak.long_runs(options.calls)
        for death in DEATHS:
            soak.walk(options.times if death == "owner" else options.janitor_times, death)
        soak.at_random(options.minutes, options.seed)
    finally:
        print(soak.records.table(), flush=True)
    if wrong := soak.records.wrong():
        sys.exit(f"{len(wrong)} problems: see above, or in {log}")


def is_missing(name: str) -> bool:
    """Report a configuration that is not available."""
    reason = lacks(name)
    if reason:
        say(f"skipped: {reason}")
    return bool(reason)


if __name__ == "__main__":
    main()
