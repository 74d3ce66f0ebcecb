"""``make soak``: a thousand calls at once, every step fifty times, then kills at random for an hour.

Prints what many calls hold, and a table of how long it took until nothing was left.

``python soak.py --times 50 --minutes 60``. Ends with 1 and says what was left as soon as anything was.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path

from dying_owner import STEPS
from killing import ENGINES, lacks, seconds_after_death, table

MANY = Path(__file__).with_name("many_calls.py")
RANDOM = "at random"
LONGEST_SECONDS = 6.0
"""The longest life of an owner that is killed at random."""


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--times", type=int, default=50, help="kills at each step")
    parser.add_argument("--minutes", type=float, default=60.0, help="how long to kill at random afterwards")
    parser.add_argument("--seed", type=int, default=0, help="of the moments")
    options = parser.parse_args()
    found: defaultdict[tuple[str, str], list[float]] = defaultdict(list)
    engines = [engine for engine in ENGINES if not lacks(engine)]
    for engine in engines:
        with tempfile.TemporaryDirectory() as folder:
            argv = [sys.executable, str(MANY), engine, "1000", "1000", f"{folder}/hello.yaml"]
            subprocess.run(argv, check=True)
    try:
        for engine in engines:
            for step in STEPS:
                for _ in range(options.times):
                    found[engine, step].append(seconds_after_death(engine, step))
        moments, until = random.Random(options.seed), time.monotonic() + options.minutes * 60
        while engines and time.monotonic() < until:
            engine = moments.choice(engines)
            life = moments.uniform(0.05, LONGEST_SECONDS)
            found[engine, RANDOM].append(seconds_after_death(engine, RANDOM, kill_after=life))
    except AssertionError as error:
        sys.exit(f"LEFT BEHIND:\n{error}")
    finally:
        print(table(found), flush=True)


if __name__ == "__main__":
    main()
