"""Makes many calls at once, and looks that they hold nothing more when they are over and leave nothing."""

from __future__ import annotations

import json
import time

from killing import HERE, PATIENCE_SECONDS, setup
from many_calls import MAY_GROW
from remains import Before, Owned, adopting, seconds_until_clean


def seconds_for(name: str, calls: int, threads: int, program: str = "many_calls.py") -> float:
    """How long ``program`` takes to make first ``threads`` calls and then ``calls``, so many at once.

    Raises ``AssertionError`` that says what was wrong, held or left.
    """
    with setup(name) as place, adopting():
        daemon = place.daemon()
        before = Before.look(daemon)
        began = time.monotonic()
        words = (*place.engine_words(), str(calls), str(threads), str(place.workspace / "hello.yaml"))
        with place.start(str(HERE / program), *words) as process:
            told, _ = process.communicate()
        seconds = time.monotonic() - began
        assert process.returncode == 0, f"it ended with {process.returncode}\n{told}"
        found = json.loads(told)
        _judge(found)
        owned = Owned(label=found["label"], top=place.top, daemon=daemon, before=before)
        seconds_until_clean(owned, PATIENCE_SECONDS)
        return seconds


def _judge(found: dict[str, dict[str, int]]) -> None:
    before, during, after = found["before"], found["during"], found["after"]
    assert found["right"], found
    assert all(during[name] <= before[name] + most for name, most in MAY_GROW.items()), found
    # The janitor is the only child, and its pipe the only descriptor beside the standard ones and the list's own.
    assert (after["threads"], after["children"]) == (1, 1), found
    assert after["descriptors"] <= 6, found
