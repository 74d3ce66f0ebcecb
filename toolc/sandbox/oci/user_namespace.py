"""The user of a sandbox, and the user namespace of an idmapped mount, which shows a folder of root as an unused user's.

Files that the sandbox's user creates there belong to root on disk, and that user owns nothing elsewhere. The mount is
in a mount namespace that only the sandbox's processes hold, so it is never visible on the host, and ends with them.
This needs Linux 5.12, root, and a file system that supports it. See ``toolc.sandbox.host.mounts`` and
user_namespaces(7).
"""

import errno
import os
import shutil
import subprocess
from pathlib import Path
from typing import Final

from toolc.dataclass import dataclass
from toolc.model.plan import Mount

UNUSED: Final = 2_100_000_000
"""The first of the host uids (and gids) that no user has. They are above the ranges that systemd and SSSD assign."""

NOBODY: Final = 65534
TOOL: Final = 1000
"""The uid of a tool inside if its workspace belongs to root outside.

It is the first ordinary user of most distributions.
"""


@dataclass(frozen=True, slots=True)
class IdMapping:
    """One id in the sandbox's user namespace and the kernel's id for it."""

    inside: int
    outside: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxUser:
    """The ids of a tool, all ids that are mapped into its user namespace, and the mapping of its workspace.

    ``workspace_uid`` and ``workspace_gid`` are set if the workspace must be mounted with mapped ids: the folder's
    own id (``inside``, as on disk) and the kernel's id that becomes its owner (``outside``).
    """

    uid: int
    gid: int
    uids: tuple[IdMapping, ...]
    gids: tuple[IdMapping, ...]
    workspace_uid: IdMapping | None = None
    workspace_gid: IdMapping | None = None

    def __str__(self) -> str:
        return f"{self.uid}:{self.gid}"


def outside(pairs: tuple[IdMapping, ...], inside: int) -> int:
    """Return the kernel's id for an id that is mapped."""
    return next(pair.outside for pair in pairs if pair.inside == inside)


def sandbox_user(workspace: Mount | None, *, euid: int, egid: int) -> SandboxUser:
    """Return the user of a tool with this workspace, if started by a process of ``euid`` and ``egid``."""
    if euid != 0:
        return SandboxUser(uid=0, gid=0, uids=(IdMapping(0, euid),), gids=(IdMapping(0, egid),))
    # The runtime sets up the sandbox as uid 0 inside, which must be mapped. The tool itself never runs as uid 0.
    setup = IdMapping(0, UNUSED)
    if workspace is None:
        nobody = IdMapping(NOBODY, UNUSED + NOBODY)
        return SandboxUser(uid=NOBODY, gid=NOBODY, uids=(setup, nobody), gids=(setup, nobody))
    if workspace.owner != 0:
        uid, gid = workspace.owner, workspace.group or workspace.owner
        return SandboxUser(uid=uid, gid=gid, uids=(setup, IdMapping(uid, uid)), gids=(setup, IdMapping(gid, gid)))
    tool = IdMapping(TOOL, UNUSED + TOOL)
    return SandboxUser(
        uid=TOOL,
        gid=TOOL,
        uids=(setup, tool),
        gids=(setup, tool),
        workspace_uid=IdMapping(workspace.owner, tool.outside),
        workspace_gid=IdMapping(workspace.group, tool.outside),
    )


def open_user_namespace(uid: IdMapping, gid: IdMapping) -> int:
    """Return a descriptor of a new user namespace that maps only these two ids. Raises ``OSError``."""
    unshare = shutil.which("unshare", path=os.defpath)
    if unshare is None:
        raise OSError(errno.ENOENT, "unshare is not installed; install the package util-linux")
    # A process must create the namespace. It ends immediately, and the descriptor keeps the namespace. The process
    # gets nothing from toolc's environment, which may contain secrets.
    with subprocess.Popen(
        [unshare, "--user", "cat"], env={"PATH": os.defpath}, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL, start_new_session=True,
    ) as process:  # fmt: skip
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(b".")
            process.stdin.flush()
            if process.stdout.read(1) != b".":
                raise OSError(errno.EPERM, "cannot create a user namespace")
            proc = Path(f"/proc/{process.pid}")
            for name, pair in (("uid_map", uid), ("gid_map", gid)):
                (proc / name).write_text(f"{pair.inside} {pair.outside} 1", encoding="utf-8")
            return os.open(proc / "ns/user", os.O_RDONLY | os.O_CLOEXEC)
        finally:
            process.kill()
