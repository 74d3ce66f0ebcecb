import gc

import pytest

from toolc.compiler.pipeline.gc_pause import gc_paused


def test_collector_is_restored_after_errors() -> None:
    with gc_paused():
        assert not gc.isenabled()
    assert gc.isenabled()
    with pytest.raises(ZeroDivisionError), gc_paused():
        1 / 0  # noqa: B018
    assert gc.isenabled()


def test_disabled_collector_stays_disabled() -> None:
    gc.disable()
    try:
        with gc_paused():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


@pytest.mark.slow
def test_new_objects_are_in_the_oldest_generation() -> None:
    gc.unfreeze()  # what another test froze
    with gc_paused():
        made: list[list[int]] = [[] for _ in range(10)]
    assert {id(each) for each in made} <= {id(each) for each in gc.get_objects(generation=2)}


def test_frozen_objects_stay_frozen() -> None:
    gc.freeze()
    try:
        with gc_paused():
            pass
        assert gc.get_freeze_count()
    finally:
        gc.unfreeze()
