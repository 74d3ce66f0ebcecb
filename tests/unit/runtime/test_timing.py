from __future__ import annotations

import pytest

from toolc.runtime import call_durations
from toolc.runtime.call_durations import Timing


def test_laps_follow_each_other_and_leave_nothing_out(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([1.0, 1.25, 1.75])
    monkeypatch.setattr(call_durations, "perf_counter", lambda: next(clock))
    laps = Timing()
    laps.lap("bind")
    laps.lap("ready")
    laps.split("ready", "run", 400)
    assert laps.to_json() == {"bind": 250.0, "ready": 100.0, "run": 400.0}


def test_a_lap_may_end_at_a_moment_that_has_passed(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([1.0, 2.0])
    monkeypatch.setattr(call_durations, "perf_counter", lambda: next(clock))
    laps = Timing()
    laps.lap("create", until=1.0)
    laps.lap("start")
    assert laps.to_json() == {"create": 0.0, "start": 1000.0}


def test_what_was_over_before_a_lap_began_took_none_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([1.0, 1.5])
    monkeypatch.setattr(call_durations, "perf_counter", lambda: next(clock))
    laps = Timing()
    laps.lap("create", until=0.5)
    laps.lap("start")
    assert laps.to_json() == {"create": 0.0, "start": 500.0}
