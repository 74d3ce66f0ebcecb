import pytest

from toolc.batch.journal import Record
from toolc.cli.output import batch_progress
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


def test_long_checks_of_a_file_say_every_ten_seconds_how_far_they_are(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    seconds = iter([0.0, 9.0, 11.0, 12.0, 22.0])
    monkeypatch.setattr(batch_progress, "monotonic", lambda: next(seconds))
    checked = batch_progress.CheckProgress()
    for line in (1, 2000, 3000, 4000):
        checked(line)
    assert [line.split()[1] for line in capsys.readouterr().err.splitlines()] == ["2,000", "4,000"]
