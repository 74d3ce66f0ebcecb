"""The runtime folder of one engine in one process: skeleton roots, bundles, and the runtime's own state.

A bundle contains nothing that is specific to one sandbox, so all sandboxes of a kind share it. All sandboxes with
the same user share a root.
"""

import itertools
import json
import os
import threading
from pathlib import Path
from typing import Final

from toolc.dataclass import dataclass, field, replace
from toolc.model.errors import InfrastructureError, raise_shortage
from toolc.model.json_schema import JsonObject
from toolc.model.plan import Mount, Profile
from toolc.sandbox import common_config
from toolc.sandbox.host import cgroups, janitor, store
from toolc.sandbox.host.janitor_process import remove_tree
from toolc.sandbox.host.kernel import prepare_overlay
from toolc.sandbox.host.owner import Owner, dead_directories
from toolc.sandbox.oci import root as oci_root
from toolc.sandbox.oci import sweep
from toolc.sandbox.oci.config import config, fork_setup, resources
from toolc.sandbox.oci.oci_sandbox import SandboxPaths
from toolc.sandbox.oci.root import RootSpec
from toolc.sandbox.oci.user_namespace import UNUSED, SandboxUser, outside

SWEEP_SECONDS: Final = 5.0
"""How long removing the leftovers of one dead owner may take, in seconds. A call waits for this.

The next call continues.
"""

_NUMBERS: Final = itertools.count(1)


@dataclass(frozen=True, slots=True)
class Bundle:
    """A folder with the configuration of sandboxes, and the first message to a fork server."""

    folder: Path
    fork_setup: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class BundleDirectory:
    """The runtime folder and its contents so far. It is removed after its owner has ended, in whatever way.

    ``controllers`` are the cgroup controllers that can be used.
    """

    owner: Owner
    directory: Path
    controllers: frozenset[str]
    lock: threading.Lock = field(default_factory=threading.Lock)
    roots: dict[SandboxUser, Path] = field(default_factory=dict)
    hosts: dict[tuple[tuple[str, str], ...], Path] = field(default_factory=dict)
    bundles: dict[tuple[Profile, SandboxUser, tuple[str, ...], RootSpec], Bundle] = field(default_factory=dict)

    @staticmethod
    def create() -> "BundleDirectory":
        """Create a folder for this process, and remove those of dead owners. Raises ``InfrastructureError``."""
        for owner, stale in dead_directories():
            if sweep.sweep_until_gone(_prefix(owner), SWEEP_SECONDS):
                remove_tree(stale)
        owner = Owner.current()
        janitor.register("control group", _prefix(owner))
        try:
            directory = owner.directory() / f"oci-{next(_NUMBERS)}"
            directory.mkdir(mode=0o700)
            for name in ("state", "pids", "roots", "bundles", "workspace"):
                (directory / name).mkdir(mode=0o711)
            _allow_setup_user(directory.parent, directory)
        except OSError as error:
            raise_shortage(error)
            raise InfrastructureError(f"cannot use {error.filename}: {error.strerror}") from error
        controllers = frozenset(cgroups.CONTROLLERS) - set(cgroups.unenforceable())
        return BundleDirectory(owner=owner, directory=directory, controllers=controllers)

    @property
    def mount_point(self) -> Path:
        """The mount point of a workspace with mapped ids. It exists only in the mount namespace of its sandbox."""
        return self.directory / "workspace"

    def remove(self) -> None:
        """Remove the folder. All sandboxes in it must have been stopped."""
        remove_tree(self.directory)

    def new_sandbox(
        self, profile: Profile, user: SandboxUser, arguments: tuple[str, ...], runtime: str, root: RootSpec
    ) -> SandboxPaths:
        """Return a name and a bundle for a new sandbox. Raises ``InfrastructureError``."""
        janitor.register("control group", _prefix(self.owner))
        try:
            with self.lock:
                bundle = self._bundle(profile, user, arguments, root)
        except OSError as error:
            raise_shortage(error)
            raise InfrastructureError(f"cannot write to {self.directory}: {error.strerror}") from error
        name = f"{_prefix(self.owner)}-{next(_NUMBERS)}"
        events = cgroups.memory_events(name) if "memory" in self.controllers else None
        state, pid_file = self.directory / "state", self.directory / "pids" / name
        paths = SandboxPaths(name, runtime, state, bundle.folder, pid_file, self.mount_point, events, root.used)
        if not profile.has_fork_server:
            return paths
        refused = cgroups.process_events(name) if "pids" in self.controllers else None
        return replace(paths, fork_setup=bundle.fork_setup, process_events=refused)

    def _with_hosts(self, profile: Profile, root: RootSpec) -> RootSpec:
        """Return ``root`` with a separate ``/etc/hosts`` if the profile needs one."""
        if not profile.hosts:
            return root
        if profile.hosts not in self.hosts:
            # The process that sets up the sandbox can reach the folder of the roots. Each file has a new number,
            # because one that a full disk left incomplete must not be used again.
            path = self.directory / "roots" / f"hosts-{next(_NUMBERS)}"
            path.write_text(common_config.hosts(profile.hosts), encoding="utf-8")
            path.chmod(0o644)
            self.hosts[profile.hosts] = path
        return replace(root, binds=(*root.binds, (str(self.hosts[profile.hosts]), "/etc/hosts")))

    def _bundle(self, profile: Profile, user: SandboxUser, arguments: tuple[str, ...], root: RootSpec) -> Bundle:
        key = (profile, user, arguments, root)
        if key not in self.bundles:
            place, spec = (_entered(root.image.root), root) if root.image else self._on_host(user, root)
            mount, limits = profile.workspace, profile.limits
            if profile.has_fork_server:
                # The server, and the two processes of the next call.
                limits = replace(limits, pids=limits.pids + 3)
            swap = cgroups.swap_limit(limits.memory_bytes) if "memory" in self.controllers else {}
            workspace = mount.source if mount else ""
            if mount and workspace and needs_own_mount(mount, user):
                workspace = str(self.mount_point)
            configuration = config(
                profile,
                user,
                root=place,
                workspace=workspace,
                root_spec=self._with_hosts(profile, spec),
                arguments=arguments,
                resources=resources(limits, swap=swap, controllers=self.controllers),
            )
            if mount and mount.scratch:
                # It belongs to this call only, and is removed with it.
                return Bundle(_written(Path(mount.scratch) / "bundle", configuration))
            setup = fork_setup(configuration, profile) if profile.has_fork_server else b""
            folder = self.directory / "bundles" / str(len(self.bundles))
            self.bundles[key] = Bundle(_written(folder, configuration), setup)
        return self.bundles[key]

    def _on_host(self, user: SandboxUser, root: RootSpec) -> tuple[Path, RootSpec]:
        """Return the path of the skeleton for the host's programs, and ``root`` with these programs bound."""
        python = oci_root.interpreter()
        if python is None:
            raise InfrastructureError(oci_root.NO_HOST_PYTHON)
        if user not in self.roots:
            # Each root has a new number, because one that a full disk left incomplete must not be used again.
            skeleton = self.directory / "roots" / str(next(_NUMBERS))
            oci_root.build_skeleton(skeleton, user, python)
            self.roots[user] = skeleton
        return self.roots[user], root.on_host(python)


def owner_of(name: str) -> Owner | None:
    """Return the owner of the sandbox or control group with this name, or None if it is not toolc's."""
    return Owner.parse(name.removeprefix(sweep.PREFIX).rpartition("-")[0])


def prepare_scratch(mount: Mount, user: SandboxUser) -> None:
    """Give a sandbox its call's scratch folder, with the upper layer of an overlay. Raises ``InfrastructureError``."""
    try:
        _allow_setup_user(Path(mount.scratch))
    except OSError as error:
        raise InfrastructureError(f"cannot use {mount.scratch}: {error.strerror}") from error
    if mount.mode == "overlay":
        prepare_overlay(mount, outside(user.uids, user.uid), outside(user.gids, user.gid))


def needs_own_mount(mount: Mount, user: SandboxUser) -> bool:
    """Return whether the workspace needs a separate mount, to map its ids or as the lower directory of an overlay.

    The user that sets up sandboxes of root may not have access to a private folder.
    """
    return user.workspace_uid is not None or (mount.mode == "overlay" and os.geteuid() == 0)


def _entered(root: Path) -> Path:
    """Return ``root``. Raises ``InfrastructureError`` if the user that sets up a sandbox of root cannot enter it."""
    closed = next((each for each in root.parents if not each.stat().st_mode & 0o001), None)
    if os.geteuid() == 0 and closed:
        raise InfrastructureError(
            f"sandboxes cannot use {root}, because other users cannot enter {closed}; run chmod o+x {closed}, or set "
            f"{store.VARIABLE} to another folder"
        )
    return root


def _written(folder: Path, configuration: JsonObject) -> Path:
    """Write a bundle and return its folder."""
    folder.mkdir(mode=0o700, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(configuration), encoding="utf-8")
    return folder


def _prefix(owner: Owner) -> str:
    return f"{sweep.PREFIX}{owner.label()}"


def _allow_setup_user(*directories: Path) -> None:
    """If this is root, let only the user that sets up a sandbox pass through ``directories`` to the skeleton."""
    if os.geteuid() == 0:
        for directory in directories:
            os.chown(directory, 0, UNUSED)
            directory.chmod(0o710)
