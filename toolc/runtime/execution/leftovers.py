"""All that calls of this user's processes have made outside of their sandboxes, and whether it may be removed.

Normally there is nothing but what living processes use: each removes its own, and a janitor what a killed one
could not. A power cut kills both, and what is on disk stays until somebody looks for it here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from toolc.model.errors import InfrastructureError
from toolc.model.plan import ENGINES
from toolc.runtime.workspace import scratch, scratch_sweep
from toolc.sandbox import selection
from toolc.sandbox.base import Leftover
from toolc.sandbox.host import janitor_process, owner, store, store_sweep
from toolc.sandbox.host.owner import Owner

__all__ = [
    "survey",
]


@dataclass(frozen=True, slots=True)
class Survey:
    """What was found, in the order in which it is to be removed, and where nobody could look: a sentence each."""

    leftovers: tuple[Leftover, ...]
    unseen: tuple[str, ...] = ()


def survey() -> Survey:
    """Look everywhere; nothing is changed."""
    found: list[Leftover] = []
    unseen: list[str] = []
    # A runtime folder is what tells the next start that its owner left anything: it goes after all the rest.
    for look in (*_engines(), _views, _drafts, _runtime_folders):
        try:
            found += look()
        except InfrastructureError as error:
            unseen.append(str(error))
    return Survey(tuple(found), tuple(unseen))


def _engines() -> Iterator[Callable[[], tuple[Leftover, ...]]]:
    """The engines that work here: one that doesn't has nothing either, or nobody can ask it."""
    for name in ENGINES:
        if selection.probe(name).available:
            yield selection.load(name).leftovers


def _views() -> Iterator[Leftover]:
    """What transactions show to tools, with what a commit that was cut short put aside in its workspace."""
    for whose, folder in scratch.directories():
        yield _folder(whose, folder, partial(_sweep, folder))


def _sweep(folder: Path) -> None:
    if unfinished := scratch_sweep.sweep(folder).unfinished:
        raise InfrastructureError("; ".join(each.told for each in unfinished))


def _drafts() -> Iterator[Leftover]:
    """What was being made in the store: an image while it was unpacked, packages while they were installed."""
    for whose, folder in store.scratch_folders():
        yield _folder(whose, folder, partial(store_sweep.remove, folder))


def _runtime_folders() -> Iterator[Leftover]:
    for whose, folder in owner.directories():
        yield _folder(whose, folder, partial(janitor_process.remove_tree, folder))


def _folder(whose: Owner, folder: Path, removed_by: Callable[[], object]) -> Leftover:
    def remove() -> None:
        removed_by()
        if folder.exists():
            raise InfrastructureError("it cannot be emptied: something is mounted in it, or is another user's")

    return Leftover(kind="folder", name=str(folder), owner=whose.label(), kept=whose.why_kept(), remove=remove)
