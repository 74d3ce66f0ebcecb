"""Compilation without pauses for garbage collection."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def gc_paused() -> Iterator[None]:
    """Run the block without garbage collection, which would take a third of the time to traverse all objects."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            if not gc.get_freeze_count():  # otherwise unfreeze() would also release objects that other code froze
                # Moves new objects to the oldest generation, so that the next collection does not traverse them.
                gc.freeze()
                gc.unfreeze()
            gc.enable()
