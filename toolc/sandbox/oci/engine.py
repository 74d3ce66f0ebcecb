"""The oci engine: sandboxes without a daemon, run by runc with an unpacked image or the host's programs.

``bundles`` is this process's runtime folder, with one skeleton root per user (``root``) and one bundle per kind of
sandbox (``config``). To start a sandbox, the engine executes ``runc run`` with a bundle (``sandbox``). If this process
dies, each sandbox ends because its stream ends. The janitor then removes the folder, and the control groups that a
killed runtime leaves (``sweep``).
"""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import threading
from collections.abc import Sequence
from dataclasses import replace
from typing import TypeAlias

from toolc.model.errors import InfrastructureError, raise_shortage
from toolc.model.plan import LoopbackProxy, Profile
from toolc.model.spec.sandbox import Build
from toolc.sandbox.common_config import IMAGE_COMMAND, PYTHONS, guest_limits
from toolc.sandbox.host import mounts, store
from toolc.sandbox.host.kernel import retry_transient
from toolc.sandbox.host.live_sandboxes import LiveSandboxes
from toolc.sandbox.host.owner import Owner
from toolc.sandbox.images.stored import find_base, name_of_base
from toolc.sandbox.interface import (
    Capabilities,
    ContentDigests,
    EngineSandbox,
    EngineStatus,
    Leftover,
    unenforced,
    unenforced_reason,
)
from toolc.sandbox.oci import bundles, sweep
from toolc.sandbox.oci import probe as oci_probe
from toolc.sandbox.oci.bundles import BundleDirectory, needs_own_mount, prepare_scratch
from toolc.sandbox.oci.filter_program import NO_LIBRARY, library
from toolc.sandbox.oci.fork_server import OciForkServer
from toolc.sandbox.oci.oci_sandbox import OciSandbox, with_stream_setup
from toolc.sandbox.oci.root import HOST, RootSpec
from toolc.sandbox.oci.user_namespace import IdMapping, SandboxUser, open_user_namespace, sandbox_user

_RootKey: TypeAlias = tuple[str | None, Build | None, tuple[str, ...], str | None, bool]


class OciEngine:
    """A ``PoolEngine`` (see ``toolc.sandbox.interface``) that uses runc."""

    name = "oci"

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._live = LiveSandboxes[OciSandbox, BundleDirectory]()
        self._root_specs: dict[_RootKey, RootSpec] = {}
        self._preparing = threading.Lock()
        self._full_capabilities: Capabilities | None = None
        self._namespaces: dict[tuple[IdMapping, IdMapping], int] = {}

    def probe(self) -> EngineStatus:
        """Return whether a runtime is available, and a kernel that allows its operations."""
        return oci_probe.probe()

    def capabilities(self) -> tuple[Capabilities, ...]:
        """Return what runc enforces for this process."""
        return (self._known_capabilities(),) if self._full_capabilities or self.probe().available else ()

    def unsupported_reason(self, profile: Profile) -> str | None:
        """Return which demand of ``profile`` cannot be met here, with the remedy, or None if all can."""
        if reason := self._refusal(profile):
            return reason
        try:
            _close(self._open_workspace(profile, _user_of(profile)))
            return _missing_image(profile)
        except InfrastructureError as error:
            return str(error)

    def _refusal(self, profile: Profile) -> str | None:
        """Return which demand of ``profile`` this engine cannot meet, regardless of the workspace and the image."""
        if profile.min_isolation != "namespace":
            return (
                f"the oci engine uses namespaces, but the tool requires min_isolation: {profile.min_isolation}; "
                "use the docker engine with a runtime that offers it"
            )
        reason = unenforced_reason(self._known_capabilities(), profile)
        return reason or (_fork_server_obstacle(profile) if profile.has_fork_server else None)

    def content_digests(self, profile: Profile) -> ContentDigests:
        """See ``Engine``. Raises ``InfrastructureError``."""
        root = self._root_spec(profile)
        return ContentDigests(None if profile.build else root.used, root.packages())

    def start(self, profile: Profile, arguments: Sequence[str]) -> OciSandbox:
        """Start a new sandbox in which Python with ``arguments`` is process 1. Raises ``InfrastructureError``."""
        sandbox = self._start(profile, arguments, self._root_spec(profile))
        if profile.workspace and not profile.workspace.source:
            with contextlib.ExitStack() as undo:
                undo.callback(sandbox.close)
                self._live.mount_helper.prepare(sandbox.await_process())
                undo.pop_all()
        return sandbox

    def _root_spec(self, profile: Profile) -> RootSpec:
        """Return the root for sandboxes of ``profile``. This engine resolves each image name once."""
        key = _root_key(profile)
        # Concurrent first calls inspect an image only once.
        with self._preparing:
            known = self._root_specs.get(key)
            if known is None or (known.image and not known.image.root.is_dir()):
                known = _ready_root(profile) or self._new_root(profile)
                if known.image is None:
                    logging.getLogger("toolc").warning(
                        "tools without an image run with this machine's own programs (/usr), because your "
                        "configuration says host_programs: true"
                    )
                self._root_specs[key] = known
            return known

    def _new_root(self, profile: Profile) -> RootSpec:
        from toolc.sandbox.oci.images import build_root_spec  # lazy: +39 ms; most tools have no image and no packages

        plain = Profile(accept_unenforced=profile.accept_unenforced)
        return build_root_spec(profile, lambda root, arguments: self._start(plain, arguments, root))

    def _start(self, profile: Profile, arguments: Sequence[str], root: RootSpec) -> OciSandbox:
        if reason := self._refusal(profile):
            raise InfrastructureError(reason)
        runtime = oci_probe.runtime()
        if runtime is None:
            raise InfrastructureError("runc is not installed; install it: apt-get install runc")
        user = _user_of(profile)
        limits = guest_limits(profile.limits, unenforced(self._known_capabilities()))
        command = (*with_stream_setup(arguments), *limits)

        def start_once() -> OciSandbox:
            directory = self._live.keep(_bundle_directory)
            if profile.workspace and profile.workspace.scratch:
                prepare_scratch(profile.workspace, user)
            paths = directory.new_sandbox(profile, user, command, runtime, root)
            tree = self._open_workspace(profile, user)
            try:
                kind = OciForkServer if profile.has_fork_server else OciSandbox
                return kind(paths, str(user), tree)
            finally:
                _close(tree)

        return retry_transient(lambda: self._live.start(start_once), InfrastructureError)

    def profile_ahead(self, profile: Profile) -> Profile:
        """See ``PoolEngine``. Only root can enter the mount namespace of a sandbox."""
        if profile.workspace is None or os.geteuid() != 0 or self._live.mount_helper.has_failed:
            return profile
        return replace(profile, workspace=profile.workspace.without_source())

    def mount_workspace(self, profile: Profile, sandbox: EngineSandbox) -> None:
        """See ``PoolEngine``. Raises ``InfrastructureError``."""
        workspace, user = profile.workspace, _user_of(profile)
        assert workspace is not None
        assert isinstance(sandbox, OciSandbox)
        namespace = None
        if user.workspace_uid and user.workspace_gid:
            namespace = self._namespace(user.workspace_uid, user.workspace_gid)
        flags = mounts.MOUNT_ATTR_NOSUID | mounts.MOUNT_ATTR_NODEV
        self._live.mount_helper.mount(sandbox.process, workspace, flags, namespace, recursive=True)

    def is_current(self, profile: Profile, sandbox: EngineSandbox) -> bool:
        """Return whether ``profile`` still refers to the image of ``sandbox``, and the image's files still exist."""
        # The lock is not held, because an image that is being prepared must not delay other calls.
        root = self._root_specs.get(_root_key(profile))
        return root is not None and root.used == sandbox.image and (root.image is None or root.image.root.is_dir())

    def leftovers(self) -> tuple[Leftover, ...]:
        """Return control groups with their processes, and runtimes. Everything else is in the folders of the owners."""
        found = ((bundles.owner_of(name), name) for name in sorted(sweep.names()))
        return tuple(_leftover(owner, name) for owner, name in found if owner)

    @property
    def closings(self) -> int:
        """See ``PoolEngine``."""
        return self._live.closings

    def close(self) -> None:
        """Stop the remaining sandboxes, and remove the files that are kept between starts."""
        with self._lock:
            namespaces, self._namespaces = self._namespaces, {}
        for descriptor in namespaces.values():
            os.close(descriptor)
        self._live.close(BundleDirectory.remove)

    def _known_capabilities(self) -> Capabilities:
        """Return which limits are enforced. The check is repeated only while a limit is not enforced."""
        found = self._full_capabilities or oci_probe.capabilities()
        if not found.weak:
            self._full_capabilities = found
        return found

    def _open_workspace(self, profile: Profile, user: SandboxUser) -> int | None:
        """Return a detached mount of the workspace, with mapped ids if root owns it. Raises ``InfrastructureError``."""
        mount = profile.workspace
        if mount is None or not mount.source or not needs_own_mount(mount, user):
            return None
        if mount.mode == "overlay" and not mount.scratch:
            # Nothing is mounted yet. If an overlay is not available, a copy is used.
            return None
        try:
            if user.workspace_uid is None or user.workspace_gid is None:
                return mounts.open_tree(mount.pinned)
            namespace = self._namespace(user.workspace_uid, user.workspace_gid)
            return mounts.open_mapped_tree(mount.pinned or mount.source, namespace)
        except OSError as error:
            raise_shortage(error)
            if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP):
                message = f"{mount.source} was removed or replaced while a sandbox was being started; repeat the call"
                raise InfrastructureError(message) from error
            raise InfrastructureError(
                f"{mount.source} belongs to root and cannot be mounted as another user's ({error.strerror}), "
                "because its file system or this kernel does not support mounts with mapped ids; give the folder to an "
                "ordinary user with chown, or use a folder on a file system such as ext4, xfs or btrfs"
            ) from error

    def _namespace(self, uid: IdMapping, gid: IdMapping) -> int:
        with self._lock:
            if (uid, gid) not in self._namespaces:
                self._namespaces[uid, gid] = open_user_namespace(uid, gid)
            return self._namespaces[uid, gid]


def _bundle_directory(current: BundleDirectory | None) -> BundleDirectory:
    return current or BundleDirectory.create()


def _root_key(profile: Profile) -> _RootKey:
    """Return the parts of a profile that determine the root of its sandboxes."""
    return profile.image, profile.build, profile.requirements, profile.base_image, profile.host_programs


def _leftover(owner: Owner, name: str) -> Leftover:
    def remove() -> None:
        if not sweep.sweep_until_gone(name, bundles.SWEEP_SECONDS):
            raise InfrastructureError("its processes cannot be killed, because they hang in the kernel")

    return Leftover(kind="control group", name=name, owner=owner.label(), kept=owner.reason_kept(), remove=remove)


def _ready_root(profile: Profile) -> RootSpec | None:
    """Return the root for tools that need only a base image, if that was obtained and inspected before, or None."""
    if profile.image or profile.build or profile.requirements:
        return None
    if profile.host_programs:
        return HOST
    base = find_base(name_of_base(profile))
    has_python = base is not None and any(store.read_notes(PYTHONS, base.digest))
    return RootSpec(image=base, command=IMAGE_COMMAND) if has_python else None


def _fork_server_obstacle(profile: Profile) -> str | None:
    """Return why a fork server cannot isolate the calls of ``profile``, or None if it can."""
    if profile.image or profile.build:
        return "with lifetime: fork, process 1 has capabilities, so its Python must not come from the image of a tool"
    if profile.loopback != LoopbackProxy():
        return "with lifetime: fork, calls have no network"
    if profile.workspace and profile.workspace.mode == "overlay":
        return "with lifetime: fork, a workspace cannot be a transaction"
    return None if library() else f"lifetime: fork needs a seccomp filter for each call, but {NO_LIBRARY}"


def _missing_image(profile: Profile) -> str | None:
    if profile.image is None:
        return None
    from toolc.sandbox.oci.images import missing_reason  # lazy: +39 ms; most tools name no image

    return missing_reason(profile)


def _user_of(profile: Profile) -> SandboxUser:
    return sandbox_user(profile.workspace, euid=os.geteuid(), egid=os.getegid())


def _close(descriptor: int | None) -> None:
    if descriptor is not None:
        os.close(descriptor)


engine = OciEngine
"""The class of the engine, for ``toolc.sandbox.selection``."""
