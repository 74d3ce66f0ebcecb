"""Unpack an image into the store as the root of sandboxes, with its mount points and its tree."""

import json
import stat
from pathlib import Path
from typing import Final

from toolc.model.errors import InfrastructureError
from toolc.model.json_schema import JsonObject, list_under, map_under
from toolc.sandbox.common_config import FILES, RUNTIME, SITE
from toolc.sandbox.host import store
from toolc.sandbox.images.archive import Archive, ArchiveImage, open_archive
from toolc.sandbox.images.metadata import DESCRIPTION, KIND, NAMES, Unpacked, load_unpacked, volumes
from toolc.sandbox.images.stored import ARCHIVE
from toolc.sandbox.images.unpack import resolve, split

MOUNT_POINTS: Final = ("proc", "dev", "tmp", "tool", "workspace", RUNTIME.lstrip("/"), SITE.lstrip("/"))
WRITABLE: Final = ("tmp", "tool")

IMPORTED: Final = "archive"
DOCKER: Final = "docker"
"""Where an unpacked image comes from. A name of an imported image never refers to an image of a daemon."""


def import_archive(name: str, archive: Path) -> Unpacked:
    """Unpack the image of an archive, and let ``name`` refer to it from now on. Raises ``InfrastructureError``."""
    with open_archive(archive) as opened:
        image = opened.image(name)
        folder = store.make(KIND, image.digest, lambda folder: fill(folder, opened, image))
    store.write_note(NAMES, name, {"digest": image.digest, "source": IMPORTED})
    return load_unpacked(name, image.digest, folder)


def import_base(name: str, archive: Path, origin: JsonObject) -> Unpacked:
    """Unpack a base image, and keep it as an archive for daemons. Raises ``InfrastructureError``.

    ``name`` refers to it from now on. ``origin`` is stored with the name.
    """

    def fill_both(folder: Path) -> None:
        # Unpack from the copy, because no other user can change it.
        opened.save(image, folder / ARCHIVE, name)
        with open_archive(folder / ARCHIVE) as copy:
            fill(folder, copy, copy.image())

    with open_archive(archive) as opened:
        image = opened.image(name)
        found = store.find(KIND, image.digest)
        if found is not None and not load_unpacked(name, image.digest, found).tree:
            store.remove(KIND, image.digest, found)  # an older toolc has unpacked it
        folder = store.make(KIND, image.digest, fill_both)
        if not (folder / ARCHIVE).is_file():  # it was unpacked as the image of a spec
            with store.scratch() as work:
                opened.save(image, work / ARCHIVE, name)
                (work / ARCHIVE).rename(folder / ARCHIVE)
    store.write_note(NAMES, name, {**origin, "digest": image.digest, "source": IMPORTED})
    return load_unpacked(name, image.digest, folder)


def fill(folder: Path, archive: Archive, image: ArchiveImage) -> None:
    """Unpack an image of an archive into a new folder of the store, with its description."""
    root = folder / "root"
    root.mkdir()
    # The mode must not depend on the umask, because the tool is not the user that creates these files.
    root.chmod(0o755)
    tree = archive.unpack(image, root)
    described = map_under(image.configuration, "config")
    # Without a mounted workspace, /workspace is a folder of the read-only root.
    writable = [path for path in volumes(described.get("Volumes")) if path != "/workspace"]
    _prepare_root(root, writable)
    words = map(str, list_under(described, "Env"))
    path = next((word.removeprefix("PATH=") for word in words if word.startswith("PATH=")), None)
    note: JsonObject = {"search_path": path, "volumes": [*writable], "tree": tree}
    (folder / DESCRIPTION).write_text(json.dumps(note), encoding="utf-8")
    (folder / DESCRIPTION).chmod(0o644)


def _prepare_root(root: Path, writable: list[str]) -> None:
    """Create the mount points that a sandbox needs in ``root``, so that the runtime does not create them."""
    for name in (*MOUNT_POINTS, *writable):
        if name in MOUNT_POINTS:
            _remove_link(root, name)
        folder = Path(resolve(str(root), split(name)))
        # The runtime gives a mount the mode of its mount point, whatever the mount's options are.
        folder.chmod(0o1777 if name in {*WRITABLE, *writable} else 0o755)
    etc = Path(resolve(str(root), ["etc"]))
    for name, text in FILES.items():
        path = etc / name
        if path.is_dir() and not path.is_symlink():
            raise InfrastructureError(f"the image has a folder at /etc/{name}, where a sandbox needs a file")
        path.unlink(missing_ok=True)
        path.write_text(text, encoding="utf-8")
        path.chmod(stat.S_IRUSR | stat.S_IRGRP | stat.S_IROTH)


def _remove_link(root: Path, name: str) -> None:
    """Remove a link at or above a mount point.

    Before 1.3.6, runc follows a link at ``/dev`` on the host, and removes and creates device files wherever the image's
    link leads (CVE-2026-41579).
    """
    path = root
    for part in split(name):
        path /= part
        if path.is_symlink():
            path.unlink()
        if not path.exists():
            return
