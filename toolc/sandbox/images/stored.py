"""The images in the store: the base image for tools without an image, and unpacked images that can be removed.

Finding the base image takes less than a millisecond and no daemon. The image is obtained once
(``toolc.sandbox.docker.base_image``), and both engines use it: its root is unpacked, and next to it is the archive that
a daemon loads. The name of a base image refers to one digest until another image is built or imported.
"""

import os
from pathlib import Path
from typing import Final

from toolc.dataclass import dataclass
from toolc.model.json_schema import JsonObject
from toolc.model.plan import Profile
from toolc.sandbox.host import store
from toolc.sandbox.images.metadata import KIND, NAMES, Unpacked, load_unpacked
from toolc.version import __version__

ARCHIVE: Final = "image.tar"
"""The archive of a base image, next to its root."""


_OWN: Final = "toolc/base:"


def base_tag() -> str:
    """Return the tag of toolc's own base image in this release."""
    # The version of a development build may contain "+", which tags do not allow.
    return _OWN + __version__.replace("+", "-")


def is_base_of_other_release(name: str) -> bool:
    """Return whether this is the name of toolc's own base image in another release."""
    return name.startswith(_OWN) and name != base_tag()


def name_of_base(profile: Profile) -> str:
    """Return the name of the base image for ``profile``: the one in the user's configuration, or toolc's own."""
    return profile.base_image or base_tag()


def find_base(name: str) -> Unpacked | None:
    """Return the base image of this name, or None if it was not obtained yet. Raises ``InfrastructureError``."""
    for folder in store.readable():
        digest = str((store.read_note(NAMES, name, folder) or {}).get("digest"))
        found = store.find(KIND, digest, folder)
        if found is not None and (found / ARCHIVE).is_file():
            # Resolve links, because the runtime must find the same folder in its own mount namespace.
            image = load_unpacked(name, digest, found.resolve())
            return image if image.tree else None
    return None


def base_note(name: str) -> JsonObject:
    """Return the note about the origin of the base image of this name. Raises ``InfrastructureError``."""
    return next(store.read_notes(NAMES, name), {})


def archive_of(image: Unpacked) -> Path:
    """Return the archive of a base image."""
    return image.root.parent / ARCHIVE


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredImage:
    """One unpacked image: its digest, the names that refer to it, and its folder."""

    digest: str
    names: tuple[str, ...]
    folder: Path

    @property
    def is_stale(self) -> bool:
        """Whether it is unused, because a newer image has its names or only another release of toolc uses it."""
        return all(map(is_base_of_other_release, self.names))

    def size_bytes(self) -> int:
        """Return the total size of the files of the image in bytes. Hard links count once."""
        seen: dict[int, int] = {}
        for folder, _, files in os.walk(self.folder):
            for name in files:
                status = os.lstat(os.path.join(folder, name))  # noqa: PTH118  a tenth of the time, for many files
                seen[status.st_ino] = status.st_size
        return sum(seen.values())


def stored_images() -> tuple[StoredImage, ...]:
    """Return all unpacked images, those in use first. Raises ``InfrastructureError``."""
    names_of: dict[str, list[str]] = {}
    for name, note in store.notes(NAMES):
        names_of.setdefault(str(note.get("digest")), []).append(name)
    found = [
        StoredImage(digest=digest, names=tuple(sorted(names_of.get(digest, ()))), folder=folder)
        for digest, folder in store.entries(KIND)
    ]
    return tuple(sorted(found, key=lambda each: (each.is_stale, each.names, each.digest)))


def remove_image(image: StoredImage) -> None:
    """Remove a stale image. Raises ``InfrastructureError`` if a call uses it, or it cannot be removed."""
    store.remove(KIND, image.digest, image.folder)
