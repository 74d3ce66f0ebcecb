"""Isolate the process of one call: its own namespaces and file systems, no capabilities, and the strict seccomp filter.

The server has ``CAP_SYS_ADMIN`` and ``CAP_SETPCAP`` in the sandbox's user namespace. The process of a call gives up
both before it reads the call, so no function or command of a tool ever runs with them. The only foreign code that does
is that of the packages with approved digests, which ``preloading`` imports. If any step fails, the process ends.
"""

from __future__ import annotations

import ctypes
import marshal
import os

CLONE_NEWNS, CLONE_NEWIPC, CLONE_NEWPID, CLONE_NEWNET = 0x20000, 0x8000000, 0x20000000, 0x40000000
"""From ``linux/sched.h``."""

SIGCHLD = 17

CLONE = {"x86_64": 56, "aarch64": 220, "riscv64": 220, "ppc64le": 120}
"""The system call number of ``clone`` by machine. A process can ``unshare`` its PID namespace only once."""

MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REMOUNT, MS_BIND, MS_MOVE, MS_REC, MS_PRIVATE = (
    1, 2, 4, 8, 32, 0x1000, 0x2000, 0x4000, 0x40000,
)  # fmt: skip
MNT_DETACH = 2
"""From ``linux/mount.h``."""

FLAGS = {"ro": MS_RDONLY, "nosuid": MS_NOSUID, "nodev": MS_NODEV, "noexec": MS_NOEXEC}
"""The mount options that are flags. All other options are data for the file system."""

PROC_FLAGS = MS_NOSUID | MS_NODEV | MS_NOEXEC

PR_SET_SECCOMP, PR_CAPBSET_DROP, PR_SET_DUMPABLE, PR_SET_NO_NEW_PRIVS = 22, 24, 4, 38
SECCOMP_MODE_FILTER = 2
CAPABILITY_VERSION_3 = 0x20080522
"""From ``linux/prctl.h``, ``linux/seccomp.h`` and ``linux/capability.h``."""

CAPABILITIES = (21, 8)
"""CAP_SYS_ADMIN and CAP_SETPCAP, in the order in which they are removed from the bounding set."""

# PyDLL keeps the interpreter's lock: the lock would otherwise be in the wrong state after ``clone``.
LIBC = ctypes.PyDLL(None, use_errno=True)


class _FilterProgram(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p)]


class Setup:
    """The settings that the host sends to the server once, as ``marshal`` writes them.

    ``filter`` is the strict seccomp filter. ``mounts`` are the file systems of which each call has its own (path, type,
    options). ``masked`` and ``read_only`` are paths below ``/proc``. If ``is_locked`` is true, all packages of the tool
    have digests.
    """

    def __init__(self, message: bytes) -> None:
        found = marshal.loads(message)  # noqa: S302  the host has sent it
        self.is_locked: bool = found["is_locked"]
        self.mounts = [_options(*each) for each in found["mounts"]]
        self.masked = [path.encode() for path in found["masked"]]
        self.read_only = [path.encode() for path in found["read_only"]]
        self.filter = _FilterProgram(len(found["filter"]) // 8, found["filter"])


def _options(path: str, kind: str, options: list[str]) -> tuple[bytes, bytes, int, bytes]:
    flags = 0
    for each in options:
        flags |= FLAGS.get(each, 0)
    data = ",".join(each for each in options if each not in FLAGS)
    return path.encode(), kind.encode(), flags, data.encode()


def clone() -> int:
    """Fork a child into new namespaces. Return its process id, or 0 in the child, which is process 1 there."""
    flags = CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWPID | CLONE_NEWNET | SIGCHLD
    arguments = (ctypes.c_long(each) for each in (CLONE[os.uname().machine], flags, 0, 0, 0, 0))
    return _checked(LIBC.syscall(*arguments), "clone")


def isolate(setup: Setup) -> None:
    """Isolate this process, which ``clone`` has created. After an ``OSError`` it must not run a call."""
    # A signal to the process group would otherwise also reach the server.
    os.setsid()
    # The server is not dumpable, but the worker must be able to write its own files in /proc.
    _prctl(PR_SET_DUMPABLE, 1)
    _mount(None, b"/", None, MS_REC | MS_PRIVATE)
    for path, _, _, _ in setup.mounts:
        _unmount(path)
    _mount_proc(setup)
    for path, kind, flags, data in setup.mounts:
        _mount(kind, path, kind, flags, data)
    _drop_capabilities()
    _prctl(PR_SET_NO_NEW_PRIVS, 1)
    _prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(setup.filter))


def _mount_proc(setup: Setup) -> None:
    """Replace the server's ``/proc`` with one for the new PID namespace, with masked and read-only paths.

    The kernel allows a new ``/proc`` only while another one is visible, so the old one is unmounted last.
    """
    place = b"/dev"
    _mount(b"proc", place, b"proc", PROC_FLAGS)
    _unmount(b"/proc")
    _mount(place, b"/proc", None, MS_MOVE)
    for path in setup.masked:
        _mask(path)
    for path in setup.read_only:
        if os.path.exists(path):
            _mount(path, path, None, MS_BIND | MS_REC)
            _mount(path, path, None, MS_BIND | MS_REC | MS_REMOUNT | MS_RDONLY | PROC_FLAGS)


def _mask(path: bytes) -> None:
    try:
        _mount(b"/dev/null", path, None, MS_BIND)
    except FileNotFoundError:
        pass
    except NotADirectoryError:
        _mount(b"tmpfs", path, b"tmpfs", MS_RDONLY, b"uid=0,gid=0")


def _drop_capabilities() -> None:
    for each in CAPABILITIES:
        _prctl(PR_CAPBSET_DROP, each)
    header = (ctypes.c_uint32 * 2)(CAPABILITY_VERSION_3, 0)
    nothing = (ctypes.c_uint32 * 6)()
    # This also clears the ambient set.
    _checked(LIBC.capset(header, nothing), "capset")


def _mount(source: bytes | None, target: bytes, kind: bytes | None, flags: int, data: bytes = b"") -> None:
    _checked(LIBC.mount(source, target, kind, ctypes.c_ulong(flags), data or None), "mount %r" % target)


def _unmount(path: bytes) -> None:
    _checked(LIBC.umount2(path, MNT_DETACH), "umount %r" % path)


def _prctl(option: int, value: int, more: object = 0) -> None:
    zero = ctypes.c_ulong(0)
    _checked(LIBC.prctl(option, ctypes.c_ulong(value), more or zero, zero, zero), "prctl %d" % option)


def _checked(result: int, what: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, "%s: %s" % (what, os.strerror(number)))
    return result
