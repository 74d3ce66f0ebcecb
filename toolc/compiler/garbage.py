"""Keeping Python's search for garbage out of work that makes very many objects and hardly any garbage."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def no_collection() -> Iterator[None]:
    """Run without the collector, which would look at every living object again and again: a third of the time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            _count_as_old()
            gc.enable()


def _count_as_old() -> None:
    """Take what was made for what has lived long: the collector's next step would look at all of it."""
    if not gc.get_freeze_count():  # else somebody froze what unfreezing would give back
        gc.freeze()
        gc.unfreeze()
