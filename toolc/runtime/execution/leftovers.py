"""Find all resources that calls by this user's processes have created outside of their sandboxes.

Normally they belong to running processes. Each process removes its own resources, and a janitor removes those of a
killed process. A power failure ends both, and files stay on disk until this module finds them.
"""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from toolc.dataclass import dataclass
from toolc.model.errors import InfrastructureError
from toolc.model.names import ENGINES
from toolc.runtime.workspace import scratch, scratch_sweep
from toolc.sandbox import selection
from toolc.sandbox.host import janitor_process, owner, store, store_sweep
from toolc.sandbox.host.owner import Owner
from toolc.sandbox.interface import Leftover


@dataclass(frozen=True, slots=True)
class Survey:
    """The leftovers in order of removal, and a message for each location that could not be checked."""

    leftovers: tuple[Leftover, ...]
    unchecked: tuple[str, ...] = ()


def survey() -> Survey:
    """Return all leftovers, without changing them."""
    found: list[Leftover] = []
    unchecked: list[str] = []
    # Runtime folders come last, because they show that their owner left something behind.
    for find in (*_engines(), _views, _drafts, _runtime_folders):
        try:
            found += find()
        except InfrastructureError as error:
            unchecked.append(str(error))
    return Survey(tuple(found), tuple(unchecked))


def _engines() -> Iterator[Callable[[], tuple[Leftover, ...]]]:
    """Yield a lookup for each available engine. An unavailable one has no leftovers or cannot be queried."""
    for name in ENGINES:
        if selection.probe(name).available:
            yield selection.load(name).leftovers


def _views() -> Iterator[Leftover]:
    """Yield the views of transactions, with files that an interrupted commit moved aside in its workspace."""
    for whose, folder in scratch.directories():
        yield _folder(whose, folder, partial(_sweep, folder))


def _sweep(folder: Path) -> None:
    if unfinished := scratch_sweep.sweep(folder).unfinished:
        raise InfrastructureError("; ".join(each.message for each in unfinished))


def _drafts() -> Iterator[Leftover]:
    """Yield unfinished entries of the store: images being unpacked and packages being installed."""
    for whose, folder in store.scratch_folders():
        yield _folder(whose, folder, partial(store_sweep.remove, folder))


def _runtime_folders() -> Iterator[Leftover]:
    for whose, folder in owner.directories():
        yield _folder(whose, folder, partial(janitor_process.remove_tree, folder))


def _folder(whose: Owner, folder: Path, removed_by: Callable[[], object]) -> Leftover:
    def remove() -> None:
        removed_by()
        if folder.exists():
            raise InfrastructureError(
                "it cannot be removed, because something is mounted in it or it has files of another user"
            )

    return Leftover(kind="folder", name=str(folder), owner=whose.label(), kept=whose.reason_kept(), remove=remove)
