from __future__ import annotations

import pytest

from toolc.runtime import timing
from toolc.runtime.timing import Timing


def test_laps_follow_each_other_and_leave_nothing_out(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([1.0, 1.25, 1.75])
    monkeypatch.setattr(timing, "perf_counter", lambda: next(clock))
    laps = Timing()
    laps.lap("bind")
    laps.lap("ready")
    laps.split("ready", "run", 400)
    assert laps.to_json() == {"bind": 250.0, "ready": 100.0, "run": 400.0}
