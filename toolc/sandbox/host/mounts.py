"""Create detached mounts with flags and mapped ids, move them, and give threads their own mount namespaces.

See open_tree(2), mount_setattr(2) and move_mount(2) (Linux 5.12). glibc has no functions for these calls yet.
"""

import ctypes
import errno
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeVar

from toolc.model.plan import Mount

# The numbers are the same on every architecture.
SYS_OPEN_TREE: Final = 428
SYS_MOVE_MOUNT: Final = 429
SYS_MOUNT_SETATTR: Final = 442

AT_FDCWD: Final = -100
AT_EMPTY_PATH: Final = 0x1000
AT_RECURSIVE: Final = 0x8000
OPEN_TREE_CLONE: Final = 1
MOVE_MOUNT_F_EMPTY_PATH: Final = 4
MOUNT_ATTR_RDONLY: Final = 0x1
MOUNT_ATTR_NOSUID: Final = 0x2
MOUNT_ATTR_NODEV: Final = 0x4
MOUNT_ATTR_IDMAP: Final = 0x0010_0000
MS_PRIVATE: Final = 0x4_0000
MS_REC_PRIVATE: Final = 0x4000 | MS_PRIVATE
CLONE_NEWNS: Final = 0x0002_0000
"""From ``linux/mount.h``, ``linux/fcntl.h`` and ``linux/sched.h``."""

Result = TypeVar("Result")


class _MountAttr(ctypes.Structure):
    """``struct mount_attr``."""

    _fields_ = (
        ("attr_set", ctypes.c_uint64),
        ("attr_clr", ctypes.c_uint64),
        ("propagation", ctypes.c_uint64),
        ("userns_fd", ctypes.c_uint64),
    )


def open_tree(source: str, *, recursive: bool = True) -> int:
    """Return a descriptor of a detached mount of ``source``, with the mounts below it if ``recursive``.

    Raises ``OSError``.
    """
    flags = OPEN_TREE_CLONE | os.O_CLOEXEC | (AT_RECURSIVE if recursive else 0)
    return _syscall(SYS_OPEN_TREE, AT_FDCWD, os.fsencode(source), flags)


def move_tree(tree: int, target: Path) -> None:
    """Mount a detached mount at ``target``. Raises ``OSError``."""
    _syscall(SYS_MOVE_MOUNT, tree, b"", AT_FDCWD, os.fsencode(target), MOVE_MOUNT_F_EMPTY_PATH)


def open_mapped_tree(source: str, user_namespace: int) -> int:
    """Return a descriptor of a detached mount of ``source`` with mapped ids. Raises ``OSError``."""
    tree = open_tree(source)
    try:
        _set_attributes(tree, _MountAttr(attr_set=MOUNT_ATTR_IDMAP, userns_fd=user_namespace))
    except OSError:
        os.close(tree)
        raise
    return tree


def open_workspace(workspace: Mount, flags: int, *, recursive: bool, user_namespace: int | None = None) -> int:
    """Return a descriptor of a detached mount of ``workspace``, ready to be moved into a sandbox.

    ``flags`` are additional ``MOUNT_ATTR`` flags. Raises ``OSError``.
    """
    # The mount is private: a folder that is mounted below the workspace later must not appear in the sandbox.
    attributes = _MountAttr(attr_set=flags, propagation=MS_PRIVATE)
    if workspace.mode == "ro":
        attributes.attr_set |= MOUNT_ATTR_RDONLY
    if user_namespace is not None:
        attributes.attr_set |= MOUNT_ATTR_IDMAP
        attributes.userns_fd = user_namespace
    tree = open_tree(workspace.source, recursive=recursive)
    try:
        found = os.fstat(tree)
        if (found.st_dev, found.st_ino) != (workspace.device, workspace.inode):
            raise OSError(errno.ESTALE, "it was replaced by another folder", workspace.source)
        _set_attributes(tree, attributes)
    except OSError:
        os.close(tree)
        raise
    return tree


def in_own_mount_namespace(tree: int, target: Path, launch: Callable[[], Result]) -> Result:
    """Return the result of ``launch``, run in a new mount namespace in which the mount ``tree`` is at ``target``.

    A process that ``launch`` starts stays in that namespace. Raises ``OSError``, and the errors of ``launch``.
    """
    results: list[Result] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            _check(_libc().unshare(CLONE_NEWNS))
            _check(_libc().mount(None, b"/", None, ctypes.c_ulong(MS_REC_PRIVATE), None))
            move_tree(tree, target)
            results.append(launch())
        except BaseException as error:  # noqa: BLE001  raised again in the caller's thread
            errors.append(error)

    # Namespaces belong to threads: this one ends with its thread, and no other thread ever sees it.
    thread = threading.Thread(target=run, name="toolc-mount")
    thread.start()
    thread.join()
    if errors:
        raise errors[0]
    return results[0]


def _set_attributes(tree: int, attributes: _MountAttr) -> None:
    size = ctypes.c_size_t(ctypes.sizeof(attributes))
    _syscall(SYS_MOUNT_SETATTR, tree, b"", AT_EMPTY_PATH | AT_RECURSIVE, ctypes.byref(attributes), size)


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _syscall(number: int, *arguments: object) -> int:
    return _check(_libc().syscall(ctypes.c_long(number), *arguments))


def _check(result: int) -> int:
    if result < 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))
    return result
