from __future__ import annotations

from toolc.guest.flow_control import FREE_REPORTS, INTERVAL, RateLimiter, max_reports


def test_the_first_reports_go_out_as_they_come_and_the_rest_at_a_rate() -> None:
    pace = RateLimiter()
    assert all(pace.allows(5.0) for _ in range(FREE_REPORTS))
    assert [pace.allows(5.0 + step * 0.6 * INTERVAL) for step in range(1, 7)] == [False, True] * 3


def test_no_call_of_any_length_has_more_than_the_host_takes() -> None:
    for seconds in (1, 60):
        pace = RateLimiter()
        admitted = sum(pace.allows(step * 0.001) for step in range((seconds + 2) * 1000))
        assert admitted < max_reports(seconds)
