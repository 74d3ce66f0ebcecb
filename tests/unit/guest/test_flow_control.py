"""Flow-control windows and the rate limit of progress reports."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolc.guest.flow_control import ALL_WINDOWS, FREE_REPORTS, INTERVAL, FlowWindow, RateLimiter, max_reports, window
from toolc.guest.frames import FIRST_WINDOW, MAX_CONNECTIONS, WINDOW_BYTES


@pytest.mark.parametrize(
    ("connections", "size"),
    [(0, WINDOW_BYTES), (1, WINDOW_BYTES), (8, WINDOW_BYTES), (32, 256 * 1024), (MAX_CONNECTIONS, FIRST_WINDOW)],
)
def test_few_connections_have_large_windows(connections: int, size: int) -> None:
    assert window(connections) == size


def test_all_windows_together_are_limited() -> None:
    assert all(window(each) * each <= max(ALL_WINDOWS, each * FIRST_WINDOW) for each in range(1, MAX_CONNECTIONS + 1))


@pytest.mark.slow
@given(st.lists(st.tuples(st.integers(1, MAX_CONNECTIONS), st.integers(1, 2 * WINDOW_BYTES)), min_size=1))
def test_a_sender_can_send_again_when_its_data_was_consumed(steps: list[tuple[int, int]]) -> None:
    flow = FlowWindow()
    for connections, most in steps:
        sent = flow.left
        assert sent > 0
        assert flow.spend(sent)
        while sent:
            consumed = min(most, sent)
            flow.release(consumed, window(connections))
            sent -= consumed
        assert 0 < flow.left <= WINDOW_BYTES


def test_a_window_grows_at_once_and_shrinks_only_by_consumed_data() -> None:
    flow = FlowWindow()
    assert flow.spend(FIRST_WINDOW)
    assert flow.release(FIRST_WINDOW // 2 - 1, WINDOW_BYTES) == 0
    assert flow.release(1, WINDOW_BYTES) == WINDOW_BYTES - FIRST_WINDOW // 2
    assert flow.release(FIRST_WINDOW // 2, FIRST_WINDOW) == 0
    assert flow.left == WINDOW_BYTES - FIRST_WINDOW // 2
    assert not flow.spend(flow.left + 1)


def test_the_first_reports_are_not_limited_and_the_others_have_a_rate() -> None:
    limiter = RateLimiter()
    assert all(limiter.allows(5.0) for _ in range(FREE_REPORTS))
    assert [limiter.allows(5.0 + step * 0.6 * INTERVAL) for step in range(1, 7)] == [False, True] * 3


@pytest.mark.parametrize("seconds", [1, 60])
def test_a_call_never_has_more_reports_than_the_host_accepts(seconds: int) -> None:
    limiter = RateLimiter()
    assert sum(limiter.allows(step * 0.001) for step in range((seconds + 2) * 1000)) < max_reports(seconds)
