"""The oci engine: sandboxes without a daemon, made by runc from the host's own programs.

Theory of operation: ``oci_home`` is this process's runtime folder, with one skeleton root per identity
(``oci_rootfs``) and one bundle per kind of sandbox (``oci_config``). A start is one ``runc run`` over a bundle
(``oci_sandbox``). If this process dies, each sandbox ends by itself because its stream does; the janitor
removes the folder, and the control groups that a killed runtime leaves (``oci_sweep``).
"""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence

from toolc.engines import oci_probe
from toolc.engines.base import Probe
from toolc.engines.oci_home import Home
from toolc.engines.oci_sandbox import Launch, OciSandbox
from toolc.engines.oci_user import Identity, Pair, identity
from toolc.errors import InfrastructureError
from toolc.plan import Profile


def engine() -> OciEngine:
    """A new engine of this kind."""
    return OciEngine()


class OciEngine:
    """The engine, in the terms of ``toolc.engines.base.Engine``."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._home: Home | None = None
        self._namespaces: dict[tuple[Pair, Pair], int] = {}
        # More starts at once than this slow each other down.
        self._starting = threading.BoundedSemaphore(2 * (os.cpu_count() or 1))

    @property
    def name(self) -> str:
        """The word for ``--engine``."""
        return "oci"

    def probe(self) -> Probe:
        """Whether there is a runtime, a kernel that allows what it does, and a Python for the guest."""
        return oci_probe.probe()

    def refusal(self, profile: Profile) -> str | None:
        """What of ``profile`` cannot be kept here, and the remedy; None if all can."""
        if profile.image is not None:
            return (
                f"the oci engine runs only tools without image in this version, not {profile.image!r}; "
                "use an engine that has images, or leave image out"
            )
        if profile.min_isolation != "namespace":
            return (
                f"the oci engine isolates by namespaces, the tool demands min_isolation: {profile.min_isolation}; "
                "use an engine that offers it"
            )
        try:
            _close(self._open_workspace(profile, _identity(profile)))
        except InfrastructureError as error:
            return str(error)
        return None

    def start(self, profile: Profile, arguments: Sequence[str]) -> OciSandbox:
        """Start a fresh sandbox in which Python with ``arguments`` is process 1. Raises ``InfrastructureError``."""
        if profile.image is not None or profile.min_isolation != "namespace":
            raise InfrastructureError(str(self.refusal(profile)))
        runtime = oci_probe.runtime()
        if runtime is None:
            raise InfrastructureError("runc is not installed")
        home, who = self._ready_home(), _identity(profile)
        place = home.place(profile, who, tuple(arguments), runtime)
        tree = self._open_workspace(profile, who)
        try:
            with self._starting:
                return OciSandbox(place, str(who), _launcher(tree, home))
        finally:
            _close(tree)

    def close(self) -> None:
        """Remove what is kept between starts. Sandboxes must have been closed."""
        with self._lock:
            home, self._home = self._home, None
            namespaces, self._namespaces = self._namespaces, {}
        for descriptor in namespaces.values():
            os.close(descriptor)
        if home and home.is_of_this_process():
            home.remove()

    def _ready_home(self) -> Home:
        with self._lock:
            if self._home is None or not self._home.is_of_this_process():
                self._home = Home.make()
            return self._home

    def _open_workspace(self, profile: Profile, who: Identity) -> int | None:
        """A mount with mapped ids, attached nowhere, if the workspace needs one. Raises ``InfrastructureError``."""
        if profile.workspace is None or who.workspace_uid is None or who.workspace_gid is None:
            return None
        from toolc.engines import oci_idmap  # ctypes is slow to import and seldom needed

        source = profile.workspace.source
        try:
            return oci_idmap.open_mapped_tree(source, self._namespace(who.workspace_uid, who.workspace_gid))
        except OSError as error:
            raise InfrastructureError(
                f"{source} belongs to root and cannot be shown to the tool as another user's ({error.strerror}): "
                "its file system or this kernel has no mounts with mapped ids; give the folder to an ordinary "
                "user with chown, or use a folder on a file system such as ext4, xfs or btrfs"
            ) from error

    def _namespace(self, uid: Pair, gid: Pair) -> int:
        with self._lock:
            if (uid, gid) not in self._namespaces:
                from toolc.engines import oci_idmap

                self._namespaces[uid, gid] = oci_idmap.open_user_namespace(uid, gid)
            return self._namespaces[uid, gid]


def _identity(profile: Profile) -> Identity:
    return identity(profile.workspace, euid=os.geteuid(), egid=os.getegid())


def _launcher(tree: int | None, home: Home) -> Launch:
    """How a runtime is started: right here, or where ``tree`` is mounted."""
    if tree is None:
        return lambda spawn: spawn()
    from toolc.engines import oci_idmap

    return lambda spawn: oci_idmap.with_mount(tree, home.mount_point, spawn)


def _close(descriptor: int | None) -> None:
    if descriptor is not None:
        os.close(descriptor)
