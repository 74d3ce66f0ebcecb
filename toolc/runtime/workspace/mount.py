"""Which folder a tool may see. The check is a guard against a slip: a whole home, a system, a disk."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import Final, Literal

from toolc.model.errors import UsageError
from toolc.model.plan import Mount

__all__ = [
    "mount",
]

_SYSTEM: Final = (
    "/bin", "/boot", "/dev", "/etc", "/lib", "/lib32", "/lib64", "/libx32", "/proc", "/run", "/sbin", "/sys",
    "/usr", "/var", "/Applications", "/Library", "/System", "/private",
)  # fmt: skip
"""The system's, with everything in them but what is in ``_OPEN`` folders."""

_OPEN: Final = (
    "/usr/src", "/var/tmp", "/var/www", "/private/tmp", "/private/var/folders", "/private/var/tmp",
)  # fmt: skip
"""Folders whose subfolders are people's own, though they stand in the system's."""

_SHARED: Final = ("/tmp", "/mnt", "/media", "/opt", "/srv", "/home", "/Users", "/Volumes")
"""What everyone on the machine shares: never itself a workspace, but its subfolders may be."""

_REMEDY: Final = "give the folder of one project, or make one for the tool and copy what it needs there"


def mount(path: Path, mode: Literal["ro", "rw", "overlay"]) -> Mount:
    """The workspace as an engine mounts it: checked, absolute, free of symbolic links.

    Raises ``UsageError`` that says why the folder cannot be one and what to do: it does not exist, the
    caller may not use it, or it is a root, a home, what holds a home, a shared or a system folder.
    """
    try:
        real = path.resolve(strict=True)
        status = real.stat()
    except (OSError, RuntimeError, ValueError) as error:
        reason = (isinstance(error, OSError) and error.strerror) or str(error)
        raise UsageError(f"the workspace {str(path)!r} cannot be used: {reason}; {_REMEDY}") from None
    if not real.is_dir():
        raise UsageError(f"the workspace {str(path)!r} is not a folder; {_REMEDY}")
    if refusal := _refusal(real):
        shown = str(path) if path == real else f"{path} ({real})"
        raise UsageError(f"the workspace {shown} is {refusal}, which a tool must not see whole; {_REMEDY}")
    # A tool runs as the folder's owner: it must not thereby do what its caller could not.
    needed = os.R_OK | os.X_OK | (0 if mode == "ro" else os.W_OK)
    if not os.access(real, needed, effective_ids=os.access in os.supports_effective_ids):
        wanted = "read" if mode == "ro" else "write in"
        raise UsageError(f"you may not {wanted} the workspace {real}; use a folder of your own")
    return Mount(
        source=_utf8(real),
        mode=mode,
        owner=status.st_uid,
        group=status.st_gid,
        device=status.st_dev,
        inode=status.st_ino,
    )


def _refusal(real: Path) -> str | None:
    if real == Path(real.anchor):
        return "the root of the file system"
    for home in _homes():
        if real == home:
            return "a home directory"
        if real in home.parents:
            return f"a folder that holds the home directory {home}"
    if str(real.parent) in {"/home", "/Users"} or real == Path("/root"):
        return "a home directory"
    if str(real) in _SHARED or str(real) in _OPEN:
        return "a folder that everyone on this machine shares"
    if any(home in real.parents for home in _homes()):
        return None
    if any(Path(folder) in real.parents for folder in _OPEN):
        return None
    if any(real == Path(folder) or Path(folder) in real.parents for folder in _SYSTEM):
        return "a system directory"
    return None


def _homes() -> list[Path]:
    """The caller's homes, as the environment and the user database have them; not ``/`` or a system folder."""
    import pwd  # not on Windows, where only what needs no sandbox runs

    named = [os.environ.get("HOME", "")]
    # A container's made-up uid has no entry.
    with contextlib.suppress(KeyError):
        named.append(pwd.getpwuid(os.getuid()).pw_dir)
    homes = [Path(os.path.realpath(home)) for home in named if home.startswith("/")]
    return [home for home in homes if str(home) != "/" and str(home) not in _SYSTEM]


def _utf8(real: Path) -> str:
    try:
        return os.fsencode(real).decode("utf-8")
    except UnicodeDecodeError:
        raise UsageError(f"the workspace {str(real)!r} has a name that is not UTF-8; rename it") from None
