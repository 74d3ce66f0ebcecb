"""Operations on a file of the sandbox, in a process that runs as the tool's user.

The JSON of an operation::

    {"operation": "read", "path": "a.txt", "limit": 1000000}     the content is written to stdout
    {"operation": "write", "path": "a.txt"}                      the content is read from stdin
    {"operation": "list", "path": "."}                           JSON is written to stdout: [["a.txt", "file", 12], ...]
    {"operation": "remove", "path": "a", "recursive": true}

The types in a list are ``file``, ``folder``, ``link`` and ``other``. The kernel resolves symbolic links, so a path
never leaves the files of the sandbox.
"""

from __future__ import annotations

import errno
import json
import os
import stat
from contextlib import suppress

from toolc.guest.processes import write_all

PIECE = 256 * 1024
"""The number of bytes to read or write at once. They fit into one DATA frame."""


def run(request: dict) -> None:  # type: ignore[type-arg]
    """Perform the operation in ``request``. Raises ``OSError``."""
    path, operation = request["path"], request["operation"]
    try:
        if operation == "read":
            _read(path, request["limit"])
        elif operation == "write":
            _write(path)
        elif operation == "list":
            _list(path)
        else:
            _remove(path, recursive=request["recursive"])
    except RecursionError:
        raise OSError(errno.ENAMETOOLONG, "The folders are nested too deeply", path) from None


def _read(path: str, limit: int) -> None:
    # Without O_NONBLOCK a named pipe would wait for a writer.
    file = _regular(os.open(path, os.O_RDONLY | os.O_NONBLOCK), path)
    size = 0
    while piece := os.read(file, PIECE):
        size += len(piece)
        if size > limit:
            raise OSError(errno.EFBIG, os.strerror(errno.EFBIG), path)
        write_all(1, piece)


def _write(path: str) -> None:
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    file = _regular(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NONBLOCK, 0o666), path)
    while piece := os.read(0, PIECE):
        write_all(file, piece)


def _regular(file: int, path: str) -> int:
    mode = os.fstat(file).st_mode
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "Not a regular file", path)
    return file


def _list(path: str) -> None:
    found = []
    with os.scandir(path) as entries:
        for entry in entries:
            with suppress(FileNotFoundError):  # removed in the meantime
                status = entry.stat(follow_symlinks=False)
                found.append((entry.name, _type(status.st_mode), status.st_size))
    write_all(1, json.dumps(sorted(found)).encode())


def _type(mode: int) -> str:
    if stat.S_ISREG(mode):
        return "file"
    if stat.S_ISDIR(mode):
        return "folder"
    return "link" if stat.S_ISLNK(mode) else "other"


def _remove(path: str, *, recursive: bool) -> None:
    if not stat.S_ISDIR(os.lstat(path).st_mode):
        os.unlink(path)
        return
    if recursive:
        for _, folders, names, folder in os.fwalk(path, topdown=False, onerror=_fail):
            for name in (*names, *folders):
                try:
                    os.unlink(name, dir_fd=folder)
                except IsADirectoryError:
                    os.rmdir(name, dir_fd=folder)
    os.rmdir(path)


def _fail(error: OSError) -> None:
    raise error
