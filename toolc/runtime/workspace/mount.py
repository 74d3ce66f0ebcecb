"""Check that a tool may use a folder as its workspace, to prevent mistakes such as mounting a home directory."""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path
from typing import Final, Literal

from toolc.dataclass import dataclass
from toolc.model.errors import InfrastructureError, UsageError
from toolc.model.plan import Mount

if sys.platform != "win32":  # where only tools without a sandbox run
    import pwd

_SYSTEM: Final = (
    "/bin", "/boot", "/dev", "/etc", "/lib", "/lib32", "/lib64", "/libx32", "/proc", "/run", "/sbin", "/sys",
    "/usr", "/var", "/Applications", "/Library", "/System", "/private",
)  # fmt: skip
"""System folders. Everything below them is refused, except for folders below ``_OPEN``."""

_OPEN: Final = (
    "/usr/src", "/var/tmp", "/var/www", "/private/tmp", "/private/var/folders", "/private/var/tmp",
)  # fmt: skip
"""Folders below system folders whose subfolders belong to users."""

_SHARED: Final = ("/tmp", "/mnt", "/media", "/opt", "/srv", "/home", "/Users", "/Volumes")
"""Folders shared by all users of the machine. They cannot be workspaces, but their subfolders can."""

_REMEDY: Final = "use the folder of one project, or create a folder for the tool and copy the files that it needs"


@dataclass(frozen=True, slots=True)
class WorkspaceFolder:
    """The folder of an executor, as it was when the executor was created. Tools of other executors may replace it.

    ``path`` is what the caller wrote, ``real`` is absolute and free of symbolic links. ``device`` and ``inode`` are
    those of the folder, or 0 if it did not exist.
    """

    path: Path
    real: Path
    device: int = 0
    inode: int = 0

    @classmethod
    def of(cls, path: Path) -> WorkspaceFolder:
        """Return the folder at ``path`` as it is now. An invalid path is reported by ``mount``."""
        real = path
        try:
            real = path.resolve()
            status = real.stat()
        except (OSError, RuntimeError, ValueError):
            return cls(path, real)
        return cls(path, real, status.st_dev, status.st_ino)

    def is_replaced(self, real: Path, status: os.stat_result) -> bool:
        """Return whether ``path`` now leads to another folder, or to a link."""
        is_same = not self.inode or (self.device, self.inode) == (status.st_dev, status.st_ino)
        return real != self.real or not is_same


def mount(folder: Path | WorkspaceFolder, mode: Literal["ro", "rw", "overlay"]) -> Mount:
    """Return the mount of the workspace, with an absolute path free of symbolic links.

    Raises ``UsageError`` with the reason and a remedy if the folder does not exist or was replaced, the caller may not
    use it, or it is the root, a home directory, a folder that contains one, a shared folder or a system folder.
    """
    folder = WorkspaceFolder.of(folder) if isinstance(folder, Path) else folder
    path = folder.path
    try:
        real = folder.real.resolve(strict=True)
        status = real.stat()
    except (OSError, RuntimeError, ValueError) as error:
        reason = (isinstance(error, OSError) and error.strerror) or str(error)
        raise UsageError(f"the workspace {str(path)!r} cannot be used: {reason}; {_REMEDY}") from None
    if folder.is_replaced(real, status):
        raise UsageError(
            f"the workspace {str(path)!r} was replaced since its executor was created, perhaps by a tool; if you "
            "replaced it yourself, create a new executor"
        )
    if not real.is_dir():
        raise UsageError(f"the workspace {str(path)!r} is not a folder; {_REMEDY}")
    if kind := _forbidden_kind(real) or _contains_views(real):
        name = str(path) if path == real else f"{path} ({real})"
        raise UsageError(f"the workspace {name} is {kind}, which a tool may not access; {_REMEDY}")
    # A tool runs as the owner of the folder, and must not gain access that its caller does not have.
    needed = os.R_OK | os.X_OK | (0 if mode == "ro" else os.W_OK)
    if not os.access(real, needed, effective_ids=os.access in os.supports_effective_ids):
        action = "read" if mode == "ro" else "write to"
        raise UsageError(f"you have no permission to {action} the workspace {real}; use one of your own folders")
    try:
        source = os.fsencode(real).decode("utf-8")
    except UnicodeDecodeError:
        raise UsageError(f"the workspace {str(real)!r} has a name that is not UTF-8; rename it") from None
    return Mount(
        source=source,
        mode=mode,
        owner=status.st_uid,
        group=status.st_gid,
        device=status.st_dev,
        inode=status.st_ino,
        changed_ns=status.st_mtime_ns,
    )


def scratch_location() -> Path:
    """Return ``scratch`` in the state folder. Raises ``InfrastructureError`` for a user without a home directory."""
    return state_location() / "scratch"


def state_location() -> Path:
    """Return ``toolc`` in ``$XDG_STATE_HOME``, which defaults to ``/var/lib`` or ``~/.local/state``.

    Raises ``InfrastructureError`` for an ordinary user without a home directory.
    """
    state = Path(os.environ.get("XDG_STATE_HOME", ""))
    if not state.is_absolute():
        is_root = sys.platform != "win32" and os.geteuid() == 0
        try:
            state = Path("/var/lib") if is_root else Path.home() / ".local/state"
        except RuntimeError:
            raise InfrastructureError(
                "the private folder for the files of tools cannot be created, because this user has no home directory; "
                "set XDG_STATE_HOME to a writable folder"
            ) from None
    return state / "toolc"


def copies_location() -> Path:
    """Return the folder for copies of workspaces: ``$XDG_STATE_HOME`` if it is set, otherwise ``/var/tmp``.

    The daemon of an engine must be able to access it, and it may become large.
    """
    chosen = Path(os.environ.get("XDG_STATE_HOME", ""))
    return chosen if chosen.is_absolute() else Path("/var/tmp")


def _forbidden_kind(real: Path) -> str | None:
    """Describe the folder if it must not be a workspace. None if it may be one."""
    if real == Path(real.anchor):
        return "the root of the file system"
    for home in _homes():
        if real == home:
            return "a home directory"
        if real in home.parents:
            return f"a folder that contains the home directory {home}"
    if str(real.parent) in {"/home", "/Users"} or real == Path("/root"):
        return "a home directory"
    if str(real) in _SHARED or str(real) in _OPEN:
        return "a folder shared by all users of this machine"
    if any(home in real.parents for home in _homes()):
        return None
    if any(Path(folder) in real.parents for folder in _OPEN):
        return None
    if any(real == Path(folder) or Path(folder) in real.parents for folder in _SYSTEM):
        return "a system directory"
    return None


def _contains_views(real: Path) -> str | None:
    """Describe a folder in which a tool would see the files of other calls. None if it would not."""
    try:
        views = Path(os.path.realpath(scratch_location()))
    except InfrastructureError:  # a uid without a home directory, which has no views either
        return None
    is_refused = views.is_relative_to(real) or real.is_relative_to(views)
    return "a folder with the views of other calls" if is_refused else None


def _homes() -> list[Path]:
    """Return the caller's home directories, from the environment and the user database, except system folders."""
    paths = [os.environ.get("HOME", "")]
    # An arbitrary uid in a container has no entry.
    with contextlib.suppress(KeyError):
        paths.append(pwd.getpwuid(os.getuid()).pw_dir)
    homes = [Path(os.path.realpath(home)) for home in paths if home.startswith("/")]
    return [home for home in homes if str(home) != "/" and str(home) not in _SYSTEM]
