"""A folder whose path says nothing about toolc, for paths that a sandbox can read in proc_pid_mountinfo(5).

Its name is random, and it is in the folder for temporary files. A link in the owner's runtime folder records it before
it exists, so that it is removed with that folder after the owner has died (``janitor_process.remove_owned``).
"""

import contextlib
import errno
import itertools
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Self

from toolc.model.errors import InfrastructureError, raise_shortage
from toolc.sandbox.host.janitor_process import RECORD, neutral_folders, remove_neutral
from toolc.sandbox.host.owner import Owner, directories


def neutral_name() -> str:
    """Return a random name of a folder."""
    return os.urandom(8).hex()


class NeutralFolderError(InfrastructureError):
    """A neutral folder, or something in it, cannot be created."""


class NeutralFolder:
    """A new folder of this process. Only this user and root can enter it."""

    def __init__(self, record: Path, path: Path) -> None:
        self._record = record
        self.path = path
        self._numbers = itertools.count(1)

    @classmethod
    def create(cls, parent: str = "") -> Self:
        """Create a folder in ``parent``, by default in the folder for temporary files.

        Raises ``NeutralFolderError``, as the other methods do.
        """
        name = neutral_name()
        path = Path(parent or _temporary_folder()).absolute() / name
        record = Owner.current().directory() / f"{RECORD}{name}"
        with contextlib.ExitStack() as undo, _os_errors(path):
            record.symlink_to(path)
            undo.callback(record.unlink)
            path.mkdir(mode=0o700)
            undo.pop_all()
        return cls(record, path)

    def link(self, target: str) -> str:
        """Return the path of a new link to ``target``."""
        with self._new() as link:
            link.symlink_to(target)
        return str(link)

    def folder(self) -> str:
        """Return the path of a new empty folder."""
        with self._new() as folder:
            folder.mkdir(mode=0o755)
        return str(folder)

    def file(self, text: str) -> str:
        """Return the path of a new file that everyone may read."""
        with self._new() as file:
            file.write_text(text, encoding="utf-8")
            file.chmod(0o644)
        return str(file)

    @contextlib.contextmanager
    def _new(self) -> Iterator[Path]:
        with _os_errors(self.path):
            yield self.path / str(next(self._numbers))

    def close(self) -> None:
        """Remove the folder and what is in it. Calling it again has no effect."""
        # This opens no file, so it also works if there are too many open files.
        for number in range(1, next(self._numbers)):
            path = self.path / str(number)
            with contextlib.suppress(OSError):
                if path.is_dir() and not path.is_symlink():
                    path.rmdir()
                else:
                    path.unlink()
        with contextlib.suppress(OSError):
            self.path.rmdir()
        remove_neutral(self._record)


def is_linked(folder: Path) -> bool:
    """Return whether a neutral folder of a process of this user has a link to ``folder``."""
    links = (link for _, each in directories() for found in neutral_folders(each) for link in _links(found))
    return str(folder) in links


@contextlib.contextmanager
def _os_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise_shortage(error)
        raise NeutralFolderError(f"cannot write to {path}: {error.strerror}; {_remedy(error, path.parent)}") from error


def _temporary_folder() -> str:
    try:
        return tempfile.gettempdir()
    except FileNotFoundError as error:
        raise NeutralFolderError("no folder for temporary files can be written to; set TMPDIR to one") from error


def _remedy(error: OSError, parent: Path) -> str:
    free = (
        "free space there"
        if error.errno in {errno.ENOSPC, errno.EDQUOT}
        else f"make {parent} a folder you can write to"
    )
    return f"{free}, or set TMPDIR to another folder"


def _links(folder: Path) -> list[str]:
    found = []
    with contextlib.suppress(OSError):
        for each in folder.iterdir():
            if each.is_symlink():
                found.append(str(each.readlink()))
    return found
