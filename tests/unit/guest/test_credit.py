"""Windows: few connections have wide ones, many have narrow ones, and a sender is never left waiting for good."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolc.guest.flow_control import ALL_WINDOWS, FlowWindow, window
from toolc.guest.frames import FIRST_WINDOW, MAX_CONNECTIONS, WINDOW_BYTES


@pytest.mark.parametrize(
    ("connections", "wanted"),
    [(0, WINDOW_BYTES), (1, WINDOW_BYTES), (8, WINDOW_BYTES), (32, 256 * 1024), (MAX_CONNECTIONS, FIRST_WINDOW)],
)
def test_few_connections_have_wide_windows(connections: int, wanted: int) -> None:
    assert window(connections) == wanted


def test_together_they_stay_within_bounds() -> None:
    assert all(window(each) * each <= max(ALL_WINDOWS, each * FIRST_WINDOW) for each in range(1, MAX_CONNECTIONS + 1))


@pytest.mark.slow
@given(st.lists(st.tuples(st.integers(1, MAX_CONNECTIONS), st.integers(1, 2 * WINDOW_BYTES)), min_size=1))
def test_who_has_sent_all_it_might_may_send_again_once_that_is_consumed(steps: list[tuple[int, int]]) -> None:
    """However many others come and go, and however little is consumed at a time."""
    credit = FlowWindow()
    for connections, most in steps:
        sent = credit.left
        assert sent > 0
        assert credit.spend(sent)
        while sent:
            consumed = min(most, sent)
            credit.release(consumed, window(connections))
            sent -= consumed
        assert 0 < credit.left <= WINDOW_BYTES


def test_a_window_grows_with_the_first_acknowledgement_and_shrinks_without_taking_anything_back() -> None:
    credit = FlowWindow()
    assert credit.spend(FIRST_WINDOW)
    assert credit.release(FIRST_WINDOW // 2 - 1, WINDOW_BYTES) == 0
    assert credit.release(1, WINDOW_BYTES) == WINDOW_BYTES - FIRST_WINDOW // 2
    assert credit.release(FIRST_WINDOW // 2, FIRST_WINDOW) == 0
    assert credit.left == WINDOW_BYTES - FIRST_WINDOW // 2
    assert not credit.spend(credit.left + 1)
