"""The runtime folder of one engine in one process: skeleton roots, bundles, and the runtime's own state.

A bundle says nothing about one sandbox, so all of a kind share it; so do all roots of one identity.
"""

from __future__ import annotations

import itertools
import json
import os
import sys
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from toolc.engines import janitor, oci_cgroup, oci_rootfs, oci_sweep
from toolc.engines.janitor_process import remove_tree
from toolc.engines.oci_config import config
from toolc.engines.oci_sandbox import Place
from toolc.engines.oci_user import UNUSED, Identity
from toolc.engines.owner import Owner, dead_directories
from toolc.errors import InfrastructureError
from toolc.plan import Profile

SWEEP_SECONDS: Final = 5.0
_NUMBERS: Final = itertools.count(1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Home:
    """The folder and what was made in it so far. Gone with its owner, whatever that one dies of."""

    owner: Owner
    directory: Path
    lock: threading.Lock = field(default_factory=threading.Lock)
    roots: dict[Identity, Path] = field(default_factory=dict)
    bundles: dict[tuple[Profile, Identity, tuple[str, ...]], Path] = field(default_factory=dict)

    @staticmethod
    def make() -> Home:
        """A new home for this process, after what dead owners left was removed. Raises ``InfrastructureError``."""
        for dead, left in dead_directories():
            if oci_sweep.sweep_until_gone(_prefix(dead), SWEEP_SECONDS):
                remove_tree(left)
        owner = Owner.current()
        script = Path(oci_sweep.__file__)
        janitor.register([sys.executable, "-I", "-S", str(script), _prefix(owner)])
        try:
            directory = owner.directory() / f"oci-{next(_NUMBERS)}"
            directory.mkdir(mode=0o700)
            for name in ("state", "pids", "roots", "bundles", "workspace"):
                (directory / name).mkdir(mode=0o711)
            _let_setup_pass(directory.parent, directory)
        except OSError as error:
            raise InfrastructureError(f"cannot use {error.filename}: {error.strerror}") from error
        return Home(owner=owner, directory=directory)

    def is_of_this_process(self) -> bool:
        """False in a forked child, which must not touch its parent's."""
        return self.owner.pid == os.getpid()

    @property
    def mount_point(self) -> Path:
        """Where a workspace with mapped ids stands, in the mount namespace of its own sandbox only."""
        return self.directory / "workspace"

    def place(self, profile: Profile, who: Identity, arguments: tuple[str, ...], runtime: str) -> Place:
        """A name and a bundle for a sandbox that is to be started. Raises ``InfrastructureError``."""
        try:
            with self.lock:
                bundle = self._bundle(profile, who, arguments)
        except OSError as error:
            raise InfrastructureError(f"cannot write to {self.directory}: {error.strerror}") from error
        name = f"{_prefix(self.owner)}-{next(_NUMBERS)}"
        state, pid_file = self.directory / "state", self.directory / "pids" / name
        return Place(name=name, runtime=runtime, state=state, bundle=bundle, pid_file=pid_file)

    def remove(self) -> None:
        """Remove the folder; only when no sandbox of it is left."""
        remove_tree(self.directory)

    def _bundle(self, profile: Profile, who: Identity, arguments: tuple[str, ...]) -> Path:
        key = (profile, who, arguments)
        if key not in self.bundles:
            python = oci_rootfs.interpreter()
            if python is None:
                raise InfrastructureError("the oci engine needs Python 3.9 or later in /usr")
            if who not in self.roots:
                root = self.directory / "roots" / str(len(self.roots))
                oci_rootfs.build(root, who, python)
                self.roots[who] = root
            workspace = profile.workspace and (self.mount_point if who.workspace_uid else profile.workspace.source)
            lowered = config(
                profile,
                who,
                root=self.roots[who],
                workspace=str(workspace) if workspace else None,
                python=python,
                arguments=arguments,
                swap=oci_cgroup.swap_limit(profile.limits.memory_bytes),
            )
            bundle = self.directory / "bundles" / str(len(self.bundles))
            bundle.mkdir(mode=0o700)
            (bundle / "config.json").write_text(json.dumps(lowered), encoding="utf-8")
            self.bundles[key] = bundle
        return self.bundles[key]


def _prefix(owner: Owner) -> str:
    return f"toolc-{owner.label()}"


def _let_setup_pass(*directories: Path) -> None:
    """As root: let the user that sets a sandbox up pass through to the skeleton, and nobody else."""
    if os.geteuid() == 0:
        for directory in directories:
            os.chown(directory, 0, UNUSED)
            directory.chmod(0o710)
