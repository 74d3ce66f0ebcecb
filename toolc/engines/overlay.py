"""The writable side of an overlay: made by an engine in a call's scratch folder, with the owner it needs."""

from __future__ import annotations

import os
from pathlib import Path

from toolc.model.errors import InfrastructureError
from toolc.model.plan import Mount


def prepare(mount: Mount, uid: int, gid: int) -> None:
    """Make ``upper`` and ``work`` in the scratch folder; ``uid`` and ``gid`` are the host's ids of the tool.

    ``upper`` looks as the workspace itself does, for it is what the tool sees of it. Raises
    ``InfrastructureError``.
    """
    scratch = Path(mount.scratch)
    try:
        like = Path(mount.pinned or mount.source).stat()
        for name in ("upper", "work"):
            (scratch / name).mkdir(mode=0o700)
            if (uid, gid) != (os.geteuid(), os.getegid()):
                os.chown(scratch / name, uid, gid)
        (scratch / "upper").chmod(like.st_mode & 0o1777)
        os.utime(scratch / "upper", ns=(like.st_atime_ns, like.st_mtime_ns))
        os.setxattr(scratch / "upper", "user.overlay.toolc", b"")
        os.removexattr(scratch / "upper", "user.overlay.toolc")
    except OSError as error:
        raise InfrastructureError(f"{scratch} cannot hold an overlay's writable side: {error.strerror}") from error


def options(mount: Mount, lower: str) -> list[str]:
    """The options of the overlay mount, whose lower side is the folder ``lower``.

    ``userxattr`` has the marks where whoever commits can read them, and works in a user namespace.
    """
    return [
        f"lowerdir={_escaped(lower)}",
        f"upperdir={_escaped(mount.scratch)}/upper",
        f"workdir={_escaped(mount.scratch)}/work",
        "userxattr",
    ]


def _escaped(path: str) -> str:
    return "".join(f"\\{character}" if character in "\\,:" else character for character in path)
