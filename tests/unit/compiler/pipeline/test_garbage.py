from __future__ import annotations

import gc

import pytest

from toolc.compiler.pipeline.gc_pause import gc_paused


def test_the_collector_is_as_it_was_whatever_happens() -> None:
    with gc_paused():
        assert not gc.isenabled()
    assert gc.isenabled()
    with pytest.raises(ZeroDivisionError), gc_paused():
        1 / 0  # noqa: B018
    assert gc.isenabled()


def test_who_turned_it_off_keeps_it_off() -> None:
    gc.disable()
    try:
        with gc_paused():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


@pytest.mark.slow
def test_what_was_made_meanwhile_is_not_looked_at_by_the_next_step() -> None:
    with gc_paused():
        made: list[list[int]] = [[] for _ in range(10)]
    assert {id(each) for each in made} <= {id(each) for each in gc.get_objects(generation=2)}


def test_what_somebody_froze_stays_frozen() -> None:
    gc.freeze()
    try:
        with gc_paused():
            pass
        assert gc.get_freeze_count()
    finally:
        gc.unfreeze()
