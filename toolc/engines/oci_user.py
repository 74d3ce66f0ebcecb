"""Who a tool is, inside its sandbox and for the kernel.

A tool never has a host uid that is root's. For the kernel it is the workspace's owner; where that is root,
or there is no workspace, it is a user whom nothing on the host belongs to. Whoever is not root can only
be himself, and is uid 0 of a user namespace in which he holds no capability.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from toolc.model.plan import Mount

UNUSED: Final = 2_100_000_000
"""First of the host uids (and gids) that nobody has: above the ranges that systemd and SSSD hand out."""

NOBODY: Final = 65534
TOOL: Final = 1000
"""The uid of a tool inside whose workspace belongs to root outside."""


@dataclass(frozen=True, slots=True)
class Pair:
    """One id in the sandbox's user namespace and the kernel's id for it."""

    inside: int
    outside: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """The ids a tool has, all that are mapped into its user namespace, and how its workspace is shown to it.

    ``workspace_uid`` and ``workspace_gid`` are set where the workspace must be mounted with mapped ids:
    the folder's own id (``inside``, as it is on disk) and the kernel's id that is to own it (``outside``).
    """

    uid: int
    gid: int
    uids: tuple[Pair, ...]
    gids: tuple[Pair, ...]
    workspace_uid: Pair | None = None
    workspace_gid: Pair | None = None

    def __str__(self) -> str:
        return f"{self.uid}:{self.gid}"


def outside(pairs: tuple[Pair, ...], inside: int) -> int:
    """The kernel's id of one that is mapped."""
    return next(pair.outside for pair in pairs if pair.inside == inside)


def identity(workspace: Mount | None, *, euid: int, egid: int) -> Identity:
    """Who a tool with this workspace is, when started by a process of ``euid`` and ``egid``."""
    if euid != 0:
        return Identity(uid=0, gid=0, uids=(Pair(0, euid),), gids=(Pair(0, egid),))
    # The runtime sets the sandbox up as its uid 0, which must exist; the tool itself never has it.
    setup = Pair(0, UNUSED)
    if workspace is None:
        nobody = Pair(NOBODY, UNUSED + NOBODY)
        return Identity(uid=NOBODY, gid=NOBODY, uids=(setup, nobody), gids=(setup, nobody))
    if workspace.owner != 0:
        uid, gid = workspace.owner, workspace.group or workspace.owner
        return Identity(uid=uid, gid=gid, uids=(setup, Pair(uid, uid)), gids=(setup, Pair(gid, gid)))
    tool = Pair(TOOL, UNUSED + TOOL)
    return Identity(
        uid=TOOL,
        gid=TOOL,
        uids=(setup, tool),
        gids=(setup, tool),
        workspace_uid=Pair(workspace.owner, tool.outside),
        workspace_gid=Pair(workspace.group, tool.outside),
    )
