"""Opening what stands below a folder, and nothing else: no link, no other mount, no way up.

In one step by openat2(2), which Linux has since 5.6; else name by name, each opened from the one before it.
"""

from __future__ import annotations

import ctypes
import errno
import os
import re
import sys
from pathlib import Path
from typing import Final

FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC

_OPENAT2: Final = 437
"""Its number, the same on every architecture."""

_RESOLVE: Final = 0x01 | 0x02 | 0x04 | 0x08
"""RESOLVE_NO_XDEV, RESOLVE_NO_MAGICLINKS, RESOLVE_NO_SYMLINKS and RESOLVE_BENEATH."""

_UNAVAILABLE: Final = frozenset({errno.ENOSYS, errno.EPERM})
"""What an older kernel answers, and a container's filter of system calls. What is denied is so step by step too."""


_LIBC: Final = ctypes.CDLL(None, use_errno=True)


class _How(ctypes.Structure):
    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


def open_beneath(folder: int, path: bytes, flags: int) -> int:
    """A descriptor of what stands at ``path`` below the open ``folder``.

    Raises ``OSError``: EINVAL for a path with ``.`` or ``..`` or an empty name in it, EXDEV where something else is
    mounted on the way or at its end, ELOOP or ENOTDIR for a link.
    """
    names = path.split(b"/")
    if not {b"", b".", b".."}.isdisjoint(names):
        raise OSError(errno.EINVAL, f"not a path inside a folder: {path!r}")
    if sys.platform == "linux":
        try:
            return _openat2(folder, path, flags)
        except OSError as error:
            if error.errno not in _UNAVAILABLE:
                raise
    return _in_steps(folder, names, flags)


def _openat2(folder: int, path: bytes, flags: int) -> int:
    how = _How(flags, 0, _RESOLVE)
    found: int = _LIBC.syscall(_OPENAT2, folder, path, ctypes.byref(how), ctypes.sizeof(how))
    if found < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), path)
    return found


def _in_steps(folder: int, names: list[bytes], flags: int) -> int:
    mount, descriptor = _mount(folder), os.dup(folder)
    for position, name in enumerate(names):
        last = position == len(names) - 1
        try:
            below = os.open(name, flags | os.O_NOFOLLOW if last else FOLDER, dir_fd=descriptor)
        finally:
            os.close(descriptor)
        descriptor = below
        if _mount(descriptor) != mount:
            os.close(descriptor)
            raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), name)
    return descriptor


def _mount(descriptor: int) -> bytes:
    """What tells a mount from others: its number (proc_pid_fdinfo(5)), and where there is no /proc its device.

    Not both: in an overlay, files and folders may be of different devices.
    """
    try:
        known = Path(f"/proc/self/fdinfo/{descriptor}").read_bytes()
    except OSError:
        known = b""
    number = re.search(rb"mnt_id:\s*(\d+)", known)
    return number[1] if number else b"%d" % os.fstat(descriptor).st_dev
