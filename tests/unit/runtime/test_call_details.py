import pytest

from toolc.runtime import call_details
from toolc.runtime.call_details import Timing


def test_laps_are_consecutive(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([1.0, 1.25, 1.75])
    monkeypatch.setattr(call_details, "perf_counter", lambda: next(clock))
    laps = Timing()
    laps.lap("bind")
    laps.lap("ready")
    laps.split("ready", "run", 400)
    assert laps.to_json() == {"bind": 250.0, "ready": 100.0, "run": 400.0}


@pytest.mark.parametrize("until", [1.0, 0.5], ids=["in the past", "before its start"])
def test_a_lap_may_end_earlier(until: float, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([1.0, 2.0])
    monkeypatch.setattr(call_details, "perf_counter", lambda: next(clock))
    laps = Timing()
    laps.lap("create", until=until)
    laps.lap("start")
    assert laps.to_json() == {"create": 0.0, "start": 1000.0}
