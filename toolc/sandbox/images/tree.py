"""The digest of an image's files, which does not depend on when and by which engine they are unpacked.

It is the SHA-256 of one record per entry of the image's layers, sorted by path. A record has these fields, each
followed by a NUL, and then a line feed: the path without a leading slash; the type as in find(1) (``f d l b c p``);
the mode in octal, with set-id bits; the uid; the gid; the target of a link, or major:minor of a device; the SHA-256
of the content of a file. Fields that a type does not have are empty. A hard link is a file. The root itself, times
and extended attributes are not included, and neither is what an engine adds for a sandbox.
"""

import hashlib
import os
from collections.abc import Container
from typing import Final

from toolc.dataclass import dataclass, field

_UNLISTED: Final = b"d\x00755\x000\x000\x00\x00\x00\n"
"""The record of a folder that no layer lists, without the path."""

_FOLDER: Final = b"d"
_SPECIAL: Final = (b"b", b"c", b"p")


@dataclass(frozen=True, slots=True)
class Tree:
    """The records of the layers so far, by path. To save memory, they do not include the path."""

    records: dict[str, bytes] = field(default_factory=dict)

    def add(self, path: str, kind: str, *, mode: int, uid: int, gid: int, target: str = "", content: str = "") -> None:
        """Add an entry, which replaces any entry at this path. A folder keeps its content."""
        if kind != "d":
            self.remove(path)
        fields = (kind, f"{mode & 0o7777:o}", str(uid), str(gid), target, content)
        self.records[path] = b"".join(os.fsencode(each) + b"\0" for each in fields) + b"\n"
        self._add_parents(path)

    def link(self, path: str, source: str) -> None:
        """Add a hard link to ``source``, an entry added before."""
        record = self.records[source]
        self.remove(path)
        self.records[path] = record
        self._add_parents(path)

    def remove(self, path: str) -> None:
        """Remove an entry and everything below it."""
        found = self.records.pop(path, b"")
        if found.startswith(_FOLDER):
            for below in [each for each in self.records if each.startswith(f"{path}/")]:
                del self.records[below]

    def remove_special(self, folder: str, keep: Container[str]) -> None:
        """Remove the devices and fifos below ``folder``, except those in ``keep``. They are never unpacked."""
        prefix = f"{folder}/" if folder else ""
        found = [path for path, record in self.records.items() if record.startswith(_SPECIAL)]
        for path in found:
            if path.startswith(prefix) and path not in keep:
                del self.records[path]

    def digest(self) -> str:
        """Return the digest, as ``sha256:`` and 64 digits."""
        hasher = hashlib.sha256()
        for path in sorted(self.records, key=os.fsencode):
            hasher.update(os.fsencode(path) + b"\0" + self.records[path])
        return f"sha256:{hasher.hexdigest()}"

    def _add_parents(self, path: str) -> None:
        parent = path.rpartition("/")[0]
        while parent and parent not in self.records:
            self.records[parent] = _UNLISTED
            parent = parent.rpartition("/")[0]
