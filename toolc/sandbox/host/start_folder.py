"""The folder of one start, with the links and files that the mounts of a container refer to.

The options of an overlay name links, because these options are limited in length and characters. A link also shows
that a call uses packages. The files replace those that a daemon would take from the host. The folder is in the owner's
runtime folder, and is removed with it.
"""

import contextlib
import errno
import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from toolc.model.errors import InfrastructureError, raise_shortage
from toolc.sandbox.host.janitor_process import remove_tree
from toolc.sandbox.host.owner import Owner, dead_directories, directories

_PREFIX: Final = "start-"
_NUMBERS: Final = itertools.count(1)


class StartFolderError(InfrastructureError):
    """The folder, or something in it, cannot be created."""


class StartFolder:
    """A folder of this process, created with its first entry. Only this user and root can enter it.

    Its methods raise ``StartFolderError``.
    """

    def __init__(self, path: Path | None = None) -> None:
        self.path = path or Owner.current().directory() / f"{_PREFIX}{next(_NUMBERS)}"
        self._entries: list[Path] = []

    def link(self, target: str) -> str:
        """Return the path of a new link to ``target``."""
        with self.new() as link:
            link.symlink_to(target)
        return str(link)

    def file(self, text: str) -> str:
        """Return the path of a new file that everyone may read."""
        with self.new() as file:
            file.write_text(text, encoding="utf-8")
            file.chmod(0o644)
        return str(file)

    @contextlib.contextmanager
    def new(self) -> Iterator[Path]:
        """Yield the path for a new file, link or empty folder."""
        try:
            self.path.mkdir(mode=0o700, exist_ok=True)
            self._entries.append(self.path / str(len(self._entries) + 1))
            yield self._entries[-1]
        except OSError as error:
            raise_shortage(error)
            full = error.errno in {errno.ENOSPC, errno.EDQUOT}
            remedy = "free space there" if full else f"give this user write permission for {self.path.parent}"
            raise StartFolderError(f"cannot write to {self.path}: {error.strerror}; {remedy}") from error

    def close(self) -> None:
        """Remove the folder and its content. Repeated calls have no effect."""
        # This opens no file, so it also works if there are too many open files.
        for entry in self._entries:
            with contextlib.suppress(OSError):
                entry.rmdir() if entry.is_dir() and not entry.is_symlink() else entry.unlink()
        with contextlib.suppress(OSError):
            self.path.rmdir()


def remove_stale() -> None:
    """Remove the folders of processes that are known to be dead. Their containers must have been removed."""
    for _, directory in dead_directories():
        for folder in directory.glob(f"{_PREFIX}*"):
            remove_tree(folder)
        with contextlib.suppress(OSError):  # an engine has other files there
            directory.rmdir()


def is_linked(target: Path) -> bool:
    """Return whether a process of this user has a link to ``target``."""
    for _, directory in directories():
        for entry in directory.glob(f"{_PREFIX}*/*"):
            with contextlib.suppress(OSError):  # it is not a link, or was removed
                if entry.readlink() == target:
                    return True
    return False
