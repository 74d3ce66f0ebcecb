"""The base image that was created for the tests (``.ci/with-engines``), for stores of tests."""

import functools
from pathlib import Path

from toolc.sandbox.common_config import PYTHONS
from toolc.sandbox.host import store
from toolc.sandbox.images.metadata import KIND, NAMES, Unpacked
from toolc.sandbox.images.stored import base_tag, find_base


@functools.cache
def known_base() -> Unpacked | None:
    """Return the base image of the user who runs the tests. The first call must come before another store is set."""
    return find_base(base_tag())


def share_base(folder: Path) -> None:
    """Make the base image available in another store, without a copy; do nothing if there is none."""
    base = known_base()
    if base is None:
        return
    for kind, name in ((NAMES, base_tag()), (PYTHONS, base.digest)):
        note = f"{kind}/{store._note(kind, name).name}"
        origin = base.root.parent.parent.parent / note
        if origin.is_file():
            (folder / note).parent.mkdir(mode=0o711, exist_ok=True)
            (folder / note).write_bytes(origin.read_bytes())
    (folder / KIND).mkdir(mode=0o711, exist_ok=True)
    (folder / KIND / base.root.parent.name).symlink_to(base.root.parent)
