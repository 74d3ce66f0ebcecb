"""The workspace of a transaction as its tool left it, before anything of it is real."""

from __future__ import annotations

import errno
import os
import stat

from toolc.runtime.beneath import Root
from toolc.runtime.result_folder import Folder, RealFolder, read_beneath
from toolc.runtime.transaction_view import Entry, Overlay, View


def left_by(view: View) -> Folder:
    """What the tool saw in the end. Raises ``OSError``, and ``TooManyError`` where it changed too much."""
    return _Overlaid(view) if isinstance(view, Overlay) else RealFolder(view.root)


class _Overlaid:
    """Both sides of an overlay as one folder, as the kernel showed them."""

    def __init__(self, overlay: Overlay) -> None:
        self._upper = overlay.root
        self._real = overlay.real
        self._changed = {entry.path: entry for entry in overlay.scan()}

    def status_of(self, path: bytes) -> os.stat_result | None:
        """As ``Folder.status_of``."""
        entry = self._changed.get(path)
        if entry is not None:
            return entry.status
        return self._real.status_of(path) if self._shows_real(path) else None

    def entries(self, path: bytes, most: int) -> list[tuple[bytes, os.stat_result]]:
        """As ``Folder.entries``."""
        entry = self._changed.get(path)
        found: dict[bytes, os.stat_result | None] = {}
        if (entry is None or not entry.alone) and self._shows_real(path) and self._is_real_folder(path):
            found |= self._real.entries(path, most)
        if entry is not None or not path:
            prefix = path + b"/" if path else b""
            found |= {name: self._changed[prefix + name].status for name, _ in self._upper.entries(path, most)}
        kept = [(name, status) for name, status in sorted(found.items()) if status is not None]
        return kept[:most]

    def read(self, path: bytes, most: int) -> bytes:
        """As ``Folder.read``."""
        entry = self._changed.get(path)
        if entry is None and not self._shows_real(path):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
        return read_beneath(self._side(entry), path, most)

    def _side(self, entry: Entry | None) -> Root:
        return self._real if entry is None else self._upper

    def _shows_real(self, path: bytes) -> bool:
        """Whether no folder above ``path`` hides the real side."""
        while path:
            path = path.rpartition(b"/")[0]
            entry = self._changed.get(path)
            if entry is not None and (
                entry.alone or entry.status is None or not stat.S_ISDIR(entry.status.st_mode)
            ):
                return False
        return True

    def _is_real_folder(self, path: bytes) -> bool:
        status = self._real.status_of(path)
        return status is not None and stat.S_ISDIR(status.st_mode)
