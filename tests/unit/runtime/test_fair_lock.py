import threading
import time

import pytest

from toolc.runtime.cancellation import Cancellation, FairLock


def test_the_first_caller_gets_the_lock_immediately() -> None:
    turns = FairLock()
    for _ in range(2):
        with turns.acquire(0, None) as has_turn:
            assert has_turn
    assert turns.waiting == 0


def test_a_caller_without_time_does_not_get_the_lock() -> None:
    turns = FairLock()
    with turns.acquire(1, None) as first:
        with turns.acquire(0, None) as second:
            assert (first, second) == (True, False)
        assert turns.waiting == 1


@pytest.mark.parametrize("seconds", [60, 2**53], ids=["within the poll limit", "beyond it"])
def test_a_cancelled_waiter_does_not_get_the_lock(seconds: int) -> None:
    turns = FairLock()
    with Cancellation() as cancellation, turns.acquire(1, None):
        threading.Timer(0.05, cancellation.cancel).start()
        with turns.acquire(seconds, cancellation) as has_turn:
            assert not has_turn


def test_the_lock_is_granted_in_order_and_exclusively() -> None:
    turns = FairLock()
    order: list[int] = []
    inside: list[int] = []

    def take(number: int) -> None:
        with turns.acquire(60, None) as has_turn:
            assert has_turn
            inside.append(number)
            assert inside == [number]
            order.append(number)
            inside.clear()

    with turns.acquire(60, None):
        threads = []
        for number in range(20):
            threads.append(threading.Thread(target=take, args=(number,)))
            threads[-1].start()
            while turns.waiting < number + 2:
                time.sleep(0.001)
    for thread in threads:
        thread.join()
    assert order == [*range(20)]


def test_a_timeout_keeps_the_order_of_the_others() -> None:
    turns = FairLock()
    done = threading.Event()

    def take() -> None:
        with turns.acquire(60, None) as has_turn:
            assert has_turn
            done.set()

    with turns.acquire(60, None):
        with turns.acquire(0, None) as has_turn:
            assert not has_turn
        waiting = threading.Thread(target=take)
        waiting.start()
        while turns.waiting < 2:
            time.sleep(0.001)
        assert not done.is_set()
    waiting.join()
    assert done.is_set()
