"""The runtime folder of one engine in one process: skeleton roots, bundles, and the runtime's own state.

A bundle says nothing about one sandbox, so all of a kind share it; so do all roots of one identity.
"""

from __future__ import annotations

import itertools
import json
import os
import sys
import threading
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from toolc.model.errors import InfrastructureError
from toolc.model.json_schema import JsonObject
from toolc.model.plan import Mount, Profile
from toolc.model.spec.sandbox import Limits
from toolc.sandbox import isolation
from toolc.sandbox.host import cgroups, janitor, kernel
from toolc.sandbox.host.janitor_process import remove_tree
from toolc.sandbox.host.owner import Owner, dead_directories
from toolc.sandbox.oci import probe, sweep
from toolc.sandbox.oci import root as oci_root
from toolc.sandbox.oci.config import config, resources
from toolc.sandbox.oci.root import RootSpec
from toolc.sandbox.oci.sandbox import SandboxPaths
from toolc.sandbox.oci.user_namespace import UNUSED, SandboxUser, outside

SWEEP_SECONDS: Final = 5.0
"""How long it may take to remove what one dead owner left."""

_NUMBERS: Final = itertools.count(1)


@dataclass(frozen=True, slots=True, kw_only=True)
class BundleDirectory:
    """The folder, and what was made in it so far. Gone with its owner, whatever that one dies of.

    ``controllers`` are those of the control groups that can be used.
    """

    owner: Owner
    directory: Path
    controllers: frozenset[str]
    lock: threading.Lock = field(default_factory=threading.Lock)
    roots: dict[SandboxUser, Path] = field(default_factory=dict)
    bundles: dict[tuple[Profile, SandboxUser, tuple[str, ...], RootSpec], Path] = field(default_factory=dict)

    @staticmethod
    def make() -> BundleDirectory:
        """A new home for this process, after what dead owners left was removed. Raises ``InfrastructureError``."""
        for dead, left in dead_directories():
            if sweep.sweep_until_gone(_prefix(dead), SWEEP_SECONDS):
                remove_tree(left)
        owner = Owner.current()
        _have_swept(owner)
        try:
            directory = owner.directory() / f"oci-{next(_NUMBERS)}"
            directory.mkdir(mode=0o700)
            for name in ("state", "pids", "roots", "bundles", "workspace"):
                (directory / name).mkdir(mode=0o711)
            _let_setup_pass(directory.parent, directory)
        except OSError as error:
            raise InfrastructureError(f"cannot use {error.filename}: {error.strerror}") from error
        return BundleDirectory(owner=owner, directory=directory, controllers=probe.enforceable())

    def is_of_this_process(self) -> bool:
        """False in a forked child, which must not touch its parent's."""
        return self.owner.pid == os.getpid()

    @property
    def mount_point(self) -> Path:
        """Where a workspace with mapped ids stands, in the mount namespace of its own sandbox only."""
        return self.directory / "workspace"

    def make_ready(self, mount: Mount, who: SandboxUser) -> None:
        """Let a sandbox in to its call's scratch folder, and make an overlay's writable side there.

        Raises ``InfrastructureError``.
        """
        try:
            _let_setup_pass(Path(mount.scratch))
        except OSError as error:
            raise InfrastructureError(f"cannot use {mount.scratch}: {error.strerror}") from error
        if mount.mode == "overlay":
            kernel.prepare(mount, outside(who.uids, who.uid), outside(who.gids, who.gid))

    def place(
        self, profile: Profile, who: SandboxUser, arguments: tuple[str, ...], runtime: str, fitting: RootSpec
    ) -> SandboxPaths:
        """A name and a bundle for a sandbox that is to be started. Raises ``InfrastructureError``."""
        _have_swept(self.owner)
        try:
            with self.lock:
                bundle = self._bundle(profile, who, arguments, fitting)
        except OSError as error:
            raise InfrastructureError(f"cannot write to {self.directory}: {error.strerror}") from error
        name = f"{_prefix(self.owner)}-{next(_NUMBERS)}"
        state, pid_file = self.directory / "state", self.directory / "pids" / name
        return SandboxPaths(
            name=name,
            runtime=runtime,
            state=state,
            bundle=bundle,
            pid_file=pid_file,
            image=fitting.image.used if fitting.image else None,
            memory_events=cgroups.memory_events(name) if "memory" in self.controllers else None,
        )

    def _resources(self, limits: Limits) -> JsonObject:
        swap = cgroups.swap_limit(limits.memory_bytes) if "memory" in self.controllers else {}
        return resources(limits, swap=swap, controllers=self.controllers)

    def remove(self) -> None:
        """Remove the folder; only when no sandbox of it is left."""
        remove_tree(self.directory)

    def _naming(self, profile: Profile, fitting: RootSpec) -> RootSpec:
        """``fitting`` with an ``/etc/hosts`` of the profile's own, where it needs one."""
        if not profile.hosts:
            return fitting
        # Beside the roots, which whoever sets the sandbox up can reach.
        path = self.directory / "roots" / f"hosts-{next(_NUMBERS)}"
        path.write_text(isolation.hosts(profile.hosts), encoding="utf-8")
        path.chmod(0o644)
        return replace(fitting, binds=(*fitting.binds, (str(path), "/etc/hosts")))

    def _bundle(self, profile: Profile, who: SandboxUser, arguments: tuple[str, ...], fitting: RootSpec) -> Path:
        key = (profile, who, arguments, fitting)
        if key not in self.bundles:
            python = oci_root.interpreter()
            if python is None:
                raise InfrastructureError("the oci engine needs Python 3.9 or later in /usr")
            if who not in self.roots:
                # A number of its own: one that a full disk left half made is not begun again.
                root = self.directory / "roots" / str(next(_NUMBERS))
                oci_root.build(root, who, python)
                self.roots[who] = root
            mount = profile.workspace
            workspace = mount and (self.mount_point if stands_apart(mount, who) else mount.source)
            lowered = config(
                profile,
                who,
                root=fitting.image.root if fitting.image else self.roots[who],
                workspace=str(workspace) if workspace else None,
                fitting=self._naming(profile, fitting if fitting.image else fitting.on_host(python)),
                arguments=arguments,
                resources=self._resources(profile.limits),
            )
            if mount and mount.scratch:
                # Of this call only, and gone with it.
                return _write_bundle(Path(mount.scratch) / "bundle", lowered)
            self.bundles[key] = _write_bundle(self.directory / "bundles" / str(len(self.bundles)), lowered)
        return self.bundles[key]


def owner_of(name: str) -> Owner | None:
    """Whose sandbox, or control group, this name is; None if it is none of ours."""
    return Owner.parse(name.removeprefix(sweep.PREFIX).rpartition("-")[0])


def stands_apart(mount: Mount, who: SandboxUser) -> bool:
    """Whether the workspace is mounted apart first: to map its ids, or to be the lower side of an overlay.

    Root's sandboxes are set up by a user who may not pass through to a private folder.
    """
    return who.workspace_uid is not None or (mount.mode == "overlay" and os.geteuid() == 0)


def _write_bundle(bundle: Path, configuration: JsonObject) -> Path:
    bundle.mkdir(mode=0o700, exist_ok=True)
    (bundle / "config.json").write_text(json.dumps(configuration), encoding="utf-8")
    return bundle


def _have_swept(owner: Owner) -> None:
    janitor.register([sys.executable, "-I", "-S", str(Path(sweep.__file__)), _prefix(owner)])


def _prefix(owner: Owner) -> str:
    return f"{sweep.PREFIX}{owner.label()}"


def _let_setup_pass(*directories: Path) -> None:
    """As root: let the user that sets a sandbox up pass through to the skeleton, and nobody else."""
    if os.geteuid() == 0:
        for directory in directories:
            os.chown(directory, 0, UNUSED)
            directory.chmod(0o710)
