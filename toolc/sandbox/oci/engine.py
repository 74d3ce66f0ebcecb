"""The oci engine: sandboxes without a daemon, run by runc with the host's own programs or an unpacked image.

``bundles`` is this process's runtime folder, with one skeleton root per user (``root``) and one bundle per kind of
sandbox (``config``). A start is one ``runc run`` with a bundle (``sandbox``). If this process dies, each sandbox
ends because its stream ends; the janitor removes the folder, and the control groups that a killed runtime leaves
(``sweep``).
"""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Final

from toolc.model.errors import InfrastructureError
from toolc.model.plan import Profile
from toolc.model.spec.sandbox import Build
from toolc.sandbox.base import Capabilities, ContentDigests, EngineStatus, Leftover, unenforced, unenforced_reason
from toolc.sandbox.common_config import guest_limits
from toolc.sandbox.host.janitor_process import remove_tree
from toolc.sandbox.host.kernel import retry_transient
from toolc.sandbox.host.owner import Owner
from toolc.sandbox.oci import bundles, sweep, user_namespace
from toolc.sandbox.oci import probe as oci_probe
from toolc.sandbox.oci.bundles import BundleDirectory, needs_own_mount
from toolc.sandbox.oci.root import HOST, RootSpec
from toolc.sandbox.oci.sandbox import Launch, OciSandbox, with_stream_setup
from toolc.sandbox.oci.user_namespace import IdMapping, SandboxUser, sandbox_user

_PLAIN: Final = (None, None, ())
"""What most tools request of a root: no image, no folder to build one from, no packages."""


class OciEngine:
    """An ``Engine`` (see ``toolc.sandbox.base``) that uses runc."""

    name = "oci"

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._directory: BundleDirectory | None = None
        self._root_specs: dict[tuple[str | None, Build | None, tuple[str, ...]], RootSpec] = {}
        self._preparing = threading.Lock()
        self._full_capabilities: Capabilities | None = None
        self._namespaces: dict[tuple[IdMapping, IdMapping], int] = {}
        # More concurrent starts than this slow each other down.
        self._starting = threading.BoundedSemaphore(2 * (os.cpu_count() or 1))

    def probe(self) -> EngineStatus:
        """Return whether a runtime, a kernel that allows its operations, and a Python for the guest are available."""
        return oci_probe.probe()

    def capabilities(self) -> tuple[Capabilities, ...]:
        """Return what runc enforces for this process."""
        return (self._known_capabilities(),) if self._full_capabilities or self.probe().available else ()

    def unsupported_reason(self, profile: Profile) -> str | None:
        """Return which demand of ``profile`` cannot be met here, and the remedy; None if all can."""
        if profile.min_isolation != "namespace":
            return (
                f"the oci engine isolates by namespaces, but the tool demands min_isolation: {profile.min_isolation}; "
                "use the docker engine with a runtime that offers it"
            )
        if reason := unenforced_reason(self._known_capabilities(), profile.accept_unenforced):
            return reason
        try:
            _close(self._open_workspace(profile, _user_of(profile)))
            return _missing_image(profile)
        except InfrastructureError as error:
            return str(error)

    def overlay_obstacle(self, profile: Profile) -> str | None:
        """Return None: no obstacle is known before an overlay is tried."""
        return None

    def content_digests(self, profile: Profile) -> ContentDigests:
        """See ``Engine``. Raises ``InfrastructureError``."""
        root = self._root_spec(profile)
        return ContentDigests(root.image.used if profile.image and root.image else None, root.packages())

    def start(self, profile: Profile, arguments: Sequence[str]) -> OciSandbox:
        """Start a new sandbox in which Python with ``arguments`` is process 1. Raises ``InfrastructureError``."""
        return self._start(profile, arguments, self._root_spec(profile))

    def _root_spec(self, profile: Profile) -> RootSpec:
        """Return the root for sandboxes of ``profile``. This engine resolves each image name only once."""
        key = (profile.image, profile.build, profile.requirements)
        if key == _PLAIN:
            return HOST
        from toolc.sandbox.oci.images import build_root_spec  # lazy: +39 ms; most tools need no image and no packages

        plain = Profile(accept_unenforced=profile.accept_unenforced)
        # Concurrent first calls inspect an image only once.
        with self._preparing:
            known = self._root_specs.get(key)
            if known is None or (known.image and not known.image.root.is_dir()):
                known = build_root_spec(profile, lambda root, arguments: self._start(plain, arguments, root))
                self._root_specs[key] = known
            return known

    def _start(self, profile: Profile, arguments: Sequence[str], root: RootSpec) -> OciSandbox:
        if profile.min_isolation != "namespace":
            raise InfrastructureError(str(self.unsupported_reason(profile)))
        if reason := unenforced_reason(self._known_capabilities(), profile.accept_unenforced):
            raise InfrastructureError(reason)
        runtime = oci_probe.runtime()
        if runtime is None:
            raise InfrastructureError("runc is not installed; install it: apt-get install runc")
        directory, user = self._bundle_directory(), _user_of(profile)
        if profile.workspace and profile.workspace.scratch:
            directory.prepare_scratch(profile.workspace, user)
        limits = guest_limits(profile.limits, unenforced(self._known_capabilities()))
        command = (*with_stream_setup(arguments), *limits)

        def start_once() -> OciSandbox:
            paths = directory.new_sandbox(profile, user, command, runtime, root)
            tree = self._open_workspace(profile, user)
            try:
                with self._starting:
                    return OciSandbox(paths, str(user), _launcher(tree, directory.mount_point))
            finally:
                _close(tree)

        return retry_transient(start_once, InfrastructureError)

    def leftovers(self) -> tuple[Leftover, ...]:
        """Return control groups with their processes, and runtimes; all else is in the folders of the owners."""
        found = ((bundles.owner_of(name), name) for name in sorted(sweep.names()))
        return tuple(_leftover(owner, name) for owner, name in found if owner)

    def close(self) -> None:
        """Remove the files that are kept between starts. All sandboxes must be closed."""
        with self._lock:
            directory, self._directory = self._directory, None
            namespaces, self._namespaces = self._namespaces, {}
        for descriptor in namespaces.values():
            os.close(descriptor)
        if directory and directory.belongs_to_this_process():
            remove_tree(directory.directory)

    def _known_capabilities(self) -> Capabilities:
        """Return what is enforced. The check is repeated only while a limit is not enforced."""
        found = self._full_capabilities or oci_probe.capabilities()
        if not found.weak:
            self._full_capabilities = found
        return found

    def _bundle_directory(self) -> BundleDirectory:
        with self._lock:
            if self._directory is None or not self._directory.belongs_to_this_process():
                self._directory = BundleDirectory.create()
            return self._directory

    def _open_workspace(self, profile: Profile, user: SandboxUser) -> int | None:
        """Return a detached mount of the workspace; with mapped ids if root owns it. Raises ``InfrastructureError``."""
        mount = profile.workspace
        if mount is None or not needs_own_mount(mount, user):
            return None
        if mount.mode == "overlay" and not mount.scratch:
            # Nothing is mounted yet: if an overlay is not available, a copy is used.
            return None
        try:
            if user.workspace_uid is None or user.workspace_gid is None:
                return user_namespace.open_tree(mount.pinned)
            namespace = self._namespace(user.workspace_uid, user.workspace_gid)
            return user_namespace.open_mapped_tree(mount.pinned or mount.source, namespace)
        except OSError as error:
            raise InfrastructureError(
                f"{mount.source} belongs to root and cannot be mounted as another user's ({error.strerror}): "
                "its file system or this kernel does not support mounts with mapped ids; give the folder to an "
                "ordinary user with chown, or use a folder on a file system such as ext4, xfs or btrfs"
            ) from error

    def _namespace(self, uid: IdMapping, gid: IdMapping) -> int:
        with self._lock:
            if (uid, gid) not in self._namespaces:
                self._namespaces[uid, gid] = user_namespace.open_user_namespace(uid, gid)
            return self._namespaces[uid, gid]


def _leftover(owner: Owner, name: str) -> Leftover:
    def remove() -> None:
        if not sweep.sweep_until_gone(name, bundles.SWEEP_SECONDS):
            raise InfrastructureError("its processes cannot be killed: they hang in the kernel")

    return Leftover(kind="control group", name=name, owner=owner.label(), kept=owner.reason_kept(), remove=remove)


def _missing_image(profile: Profile) -> str | None:
    if profile.image is None:
        return None
    from toolc.sandbox.oci.images import missing_reason  # lazy: +39 ms; most tools name no image

    return missing_reason(profile)


def _user_of(profile: Profile) -> SandboxUser:
    return sandbox_user(profile.workspace, euid=os.geteuid(), egid=os.getegid())


def _launcher(tree: int | None, target: Path) -> Launch:
    """Return the function that starts a runtime: in this mount namespace, or in one where ``tree`` is mounted."""
    return (lambda spawn: spawn()) if tree is None else partial(user_namespace.with_mount, tree, target)


def _close(descriptor: int | None) -> None:
    if descriptor is not None:
        os.close(descriptor)


engine = OciEngine
"""The class of the engine, for ``toolc.sandbox.selection``."""
