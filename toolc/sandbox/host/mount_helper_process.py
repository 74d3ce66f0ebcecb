"""The mount helper's program: ``python -I -S mount_helper_process.py PARENT``.

It mounts workspaces in sandboxes that already run. A request on its socket, which is its stdin, has one or two
descriptors: process 1 of a sandbox (pidfd_open(2)), and a detached mount (open_tree(2)) for ``/workspace`` there.
Without the second one, it removes the mount there. This may take some milliseconds, because the kernel waits for all
processors. The response is ``ok`` or the error.

It is a separate process because a thread of toolc in the mount namespace of a sandbox would import modules from there.
For the same reason, everything is imported here before the first request.
"""

from __future__ import annotations

import array
import ctypes
import errno
import os
import select
import socket
import sys
from typing import Final

OK: Final = "ok"

WORKSPACE: Final = b"/workspace"

DESCRIPTORS: Final = 2

CLONE_NEWNS: Final = 0x0002_0000
MNT_DETACH: Final = 2
UMOUNT_NOFOLLOW: Final = 8
MOVE_MOUNT_F_EMPTY_PATH: Final = 4
MOVE_MOUNT_T_EMPTY_PATH: Final = 0x40
RESOLVE_NO_SYMLINKS: Final = 4
PR_SET_DUMPABLE: Final = 4
AT_FDCWD: Final = -100
SYS_MOVE_MOUNT: Final = 429
SYS_OPENAT2: Final = 437
"""From ``linux/mount.h``, ``linux/openat2.h`` and ``linux/prctl.h``.

The numbers of system calls are the same on all architectures.
"""

_LIBC: Final = ctypes.CDLL(None, use_errno=True)


class FailedError(Exception):
    """A step failed. The error has the name of the step and the number of its error."""

    def __init__(self, step: str, number: int) -> None:
        self.step = step
        self.number = number


class _OpenHow(ctypes.Structure):
    """``struct open_how``."""

    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


_HOW: Final = _OpenHow(os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC, 0, RESOLVE_NO_SYMLINKS)


def main() -> None:
    """Serve requests until the socket is closed or the parent has ended."""
    os.closerange(3, 65536)
    # End with the parent, even if a forked child of it still has the other end of the socket.
    parent = os.pidfd_open(int(sys.argv[1]))
    if os.getppid() != int(sys.argv[1]):
        return
    _check("prctl", _LIBC.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0))
    own = os.open("/proc/self/ns/mnt", os.O_RDONLY | os.O_CLOEXEC)
    connection = socket.socket(fileno=0)
    poll = select.poll()
    poll.register(connection, select.POLLIN)
    poll.register(parent, select.POLLIN)
    while parent not in [descriptor for descriptor, _ in poll.poll()]:
        descriptors = _receive(connection)
        if not descriptors:
            return
        try:
            connection.send(_serve(own, descriptors).encode())
        finally:
            for each in descriptors:
                os.close(each)


def _receive(connection: socket.socket) -> list[int]:
    """Return the descriptors of one request, or an empty list at the end."""
    numbers = array.array("i", [-1] * DESCRIPTORS)
    _, messages, _, _ = connection.recvmsg(1, socket.CMSG_SPACE(numbers.itemsize * DESCRIPTORS))
    received = array.array("i")
    for _, _, data in messages:
        received.frombytes(data)
    return received.tolist()


def _serve(own: int, descriptors: list[int]) -> str:
    """Return the response to a request."""
    try:
        _require_other_namespace(own, descriptors[0])
        _check("setns", _LIBC.setns(descriptors[0], CLONE_NEWNS))
        try:
            if len(descriptors) == DESCRIPTORS:
                _mount(descriptors[1])
            else:
                _prepare()
        finally:
            if _LIBC.setns(own, CLONE_NEWNS) != 0:
                os._exit(1)
    except FailedError as error:
        return f"{error.step}: {os.strerror(error.number)}"
    return OK


def _require_other_namespace(own: int, process: int) -> None:
    """Raise ``FailedError`` if a process is in this process's mount namespace, and therefore not in a sandbox."""
    try:
        pid = next(line.split()[1] for line in _read(f"/proc/self/fdinfo/{process}") if line.startswith(b"Pid:"))
        namespace = os.open(b"/proc/%s/ns/mnt" % pid, os.O_PATH | os.O_CLOEXEC)
    except OSError as error:
        raise FailedError("the process cannot be inspected", error.errno or 0) from None
    is_own = os.fstat(namespace).st_ino == os.fstat(own).st_ino
    os.close(namespace)
    if is_own:
        raise FailedError("the process is not in a sandbox", errno.EPERM)


def _read(path: str) -> list[bytes]:
    """Return the lines of a small file."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(descriptor, 4096).splitlines()
    finally:
        os.close(descriptor)


def _prepare() -> None:
    # EINVAL: nothing is mounted there.
    if _LIBC.umount2(WORKSPACE, MNT_DETACH | UMOUNT_NOFOLLOW) != 0 and ctypes.get_errno() != errno.EINVAL:
        raise FailedError("umount", ctypes.get_errno())
    os.close(_open_place())


def _mount(tree: int) -> None:
    place = _open_place()
    try:
        flags = MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH
        _check("move_mount", _LIBC.syscall(ctypes.c_long(SYS_MOVE_MOUNT), tree, b"", place, b"", flags))
    finally:
        os.close(place)


def _open_place() -> int:
    size = ctypes.c_size_t(ctypes.sizeof(_HOW))
    return _check("openat2", _LIBC.syscall(ctypes.c_long(SYS_OPENAT2), AT_FDCWD, WORKSPACE, ctypes.byref(_HOW), size))


def _check(step: str, result: int) -> int:
    if result < 0:
        raise FailedError(step, ctypes.get_errno())
    return result


if __name__ == "__main__":
    main()
