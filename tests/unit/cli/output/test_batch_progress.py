from toolc.batch.journal import Record
from toolc.cli.output.batch_progress import Summary


def test_outcomes_are_counted_and_durations_are_within_two_percent() -> None:
    summary = Summary()
    assert summary.duration_ms(0.5) is None
    for number in range(1, 101):
        error = "timeout" if number > 98 else None
        summary.add(Record(line=number, tool="t", status="error" if error else "ok", error=error, duration_ms=number))
    summary.add(Record(line=101, tool="t", status="unknown", error=None, duration_ms=None))
    assert summary.outcomes == {"ok": 98, "timeout": 2, "unknown": 1}
    assert (summary.ended, summary.not_ok) == (101, 3)
    assert 49 <= (summary.duration_ms(0.5) or 0) <= 51
    assert 93 <= (summary.duration_ms(0.95) or 0) <= 97
