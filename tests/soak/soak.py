"""``make soak``: a thousand calls at once, every step fifty times, then kills at random for an hour.

``python soak.py --times 50 --minutes 60 --log FILE``. Says what it found after each step, and at the end prints
a table of how long it took until nothing was left. Whatever was left is said and counted, and it goes on; then
it ends with 1. Begun again with the same FILE, it goes on where it was.
"""

from __future__ import annotations

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
from configurations import CONFIGURATIONS
from dying_owner import STEPS
from killing import DEATHS, Death, lacks, seconds_after_death
from records import Record, Records, Row, line

from toolc.sandbox.docker.api_client import ApiError, NoDaemonError

RANDOM: Final = "at random"
MANY: Final = "1000 calls"
CANCELLED: Final = "1000 calls in cancelled batches"
LONGEST_SECONDS: Final = 6.0
"""The longest life of an owner that is killed at random."""

SPOKEN_EVERY: Final = 20
"""After so many kills at random there is a line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Soak:
    """One run of all of it, over the configurations that this host has."""

    records: Records
    names: Sequence[str]

    def many_calls(self) -> None:
        """A thousand calls at once, twice, and a thousand in batches that are cancelled at random."""
        for name in self.names:
            for row, work in (
                ((name, MANY, ""), partial(seconds_for, name, 1000, 1000)),
                ((name, CANCELLED, ""), partial(seconds_for, name, 1000, 12, "cancelled_calls.py")),
            ):
                if not self.records.of(row):
                    self._do(row, work)
                    self._say(row)

    def walk(self, times: int, death: Death) -> None:
        """Every step so many times."""
        for name in self.names:
            for step in STEPS:
                row = (name, step, death)
                for _ in range(times - len(self.records.of(row))):
                    self._do(row, partial(seconds_after_death, name, step, death))
                self._say(row)

    def at_random(self, minutes: float, seed: int) -> None:
        """Any configuration, any death, at any moment, until it has been done for so long."""
        rows = [(name, death) for name in self.names for death in DEATHS]
        done = [record for name, death in rows for record in self.records.of((name, RANDOM, death))]
        spent = sum(record.took for record in done)
        moments, numbers = random.Random(f"{seed} {len(done)}"), itertools.count(1)
        while rows and spent < minutes * 60:
            name, death = moments.choice(rows)
            life = moments.uniform(0.05, LONGEST_SECONDS)
            measure = partial(seconds_after_death, name, RANDOM, death, kill_after=life)
            spent += self._do((name, RANDOM, death), measure).took
            if next(numbers) % SPOKEN_EVERY == 0:
                say(f"{spent / 60:.1f} of {minutes:.0f} minutes at random")
                for each, dead in rows:
                    self._say((each, RANDOM, dead))

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

    def _say(self, row: Row) -> None:
        if records := self.records.of(row):
            say(line(records))


def say(text: str) -> None:
    """A line with the time of day, at once."""
    print(f"{time.strftime('%H:%M:%S')} {text}", flush=True)


def main() -> None:
    """Read the options, and do all of it."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--times", type=int, default=50, help="kills of the owner at each step")
    parser.add_argument("--janitor-times", type=int, default=10, help="kills of both at each step, for each remedy")
    parser.add_argument("--minutes", type=float, default=60.0, help="how long to kill at random afterwards")
    parser.add_argument("--seed", type=int, default=0, help="of the moments")
    parser.add_argument("--log", type=Path, help="where to keep what was found, and go on from")
    parser.add_argument("--only", action="append", choices=list(CONFIGURATIONS), help="this configuration")
    options = parser.parse_args()
    log = options.log or Path(tempfile.mkdtemp(prefix="toolc-soak-log-")) / "log"
    say(f"what is found is kept in {log}")
    names = [name for name in options.only or CONFIGURATIONS if not told(name)]
    soak = Soak(records=Records(log), names=names)
    try:
        soak.many_calls()
        for death in DEATHS:
            soak.walk(options.times if death == "owner" else options.janitor_times, death)
        soak.at_random(options.minutes, options.seed)
    finally:
        print(soak.records.table(), flush=True)
    if wrong := soak.records.wrong():
        sys.exit(f"{len(wrong)} times something was left behind, or went wrong: see above, or in {log}")


def told(name: str) -> str:
    """Why this configuration is left out, said as well."""
    if reason := lacks(name):
        say(f"left out: {reason}")
    return reason


if __name__ == "__main__":
    main()
