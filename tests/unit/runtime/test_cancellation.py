import select
import signal
import threading

from toolc.runtime.cancellation import Cancellation


def is_readable(cancellation: Cancellation) -> bool:
    return bool(select.select([cancellation], [], [], 0)[0])


def test_the_descriptor_stays_readable_after_cancellation() -> None:
    with Cancellation() as cancellation:
        assert (cancellation.is_cancelled, is_readable(cancellation)) == (False, False)
        cancellation.cancel()
        assert (cancellation.is_cancelled, is_readable(cancellation)) == (True, True)
        assert is_readable(cancellation)


def test_cancelling_any_number_of_times_never_blocks() -> None:
    with Cancellation() as cancellation:
        for _ in range(100_000):
            cancellation.cancel()
        assert is_readable(cancellation)


def test_another_thread_may_cancel() -> None:
    with Cancellation() as cancellation:
        thread = threading.Thread(target=cancellation.cancel)
        thread.start()
        assert select.select([cancellation], [], [], 60)[0]
        thread.join()


def test_a_signal_handler_may_cancel() -> None:
    with Cancellation() as cancellation:
        before = signal.signal(signal.SIGUSR1, lambda *_: cancellation.cancel())
        try:
            signal.raise_signal(signal.SIGUSR1)
        finally:
            signal.signal(signal.SIGUSR1, before)
        assert is_readable(cancellation)


def test_cancelling_after_close_is_harmless() -> None:
    cancellation = Cancellation()
    cancellation.close()
    cancellation.close()
    cancellation.cancel()
    assert (cancellation.is_cancelled, cancellation.fileno()) == (True, -1)


def test_a_child_is_cancelled_with_its_parent_but_not_the_reverse() -> None:
    with Cancellation() as parent, parent.child() as one, one.child() as grandchild, parent.child() as other:
        one.cancel()
        assert [each.is_cancelled for each in (parent, one, grandchild, other)] == [False, True, True, False]
        parent.cancel()
        assert is_readable(other)
        with parent.child() as late:
            assert is_readable(late)


def test_a_closed_child_is_removed_from_its_parent() -> None:
    with Cancellation() as parent:
        child = parent.child()
        child.close()
        parent.cancel()
        assert not child.is_cancelled


def test_cancellation_ends_a_wait_with_its_reason() -> None:
    with Cancellation() as cancellation:
        assert not cancellation.wait(0)
        thread = threading.Thread(target=cancellation.cancel)
        thread.start()
        assert cancellation.wait(60)
        assert cancellation.wait(60)
        thread.join()
