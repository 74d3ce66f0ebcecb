"""The root file system of a sandbox: an image, or the host's own programs, read-only, if the user chose these.

For the host's programs, a skeleton folder has links, mount points and a minimal ``/etc``, and ``binds`` are the folders
mounted over it. Every mount point is created here. Otherwise the runtime would create missing ones in the skeleton on
disk.
"""

import contextlib
import os
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

from toolc.dataclass import dataclass, field
from toolc.sandbox.common_config import FILES
from toolc.sandbox.images.metadata import Unpacked
from toolc.sandbox.interface import HOST_PROGRAMS, ImageUsed
from toolc.sandbox.oci.user_namespace import SandboxUser

LINKS: Final = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
"""Names that are links into ``/usr`` on a merged system. On other systems, these folders are bound."""

ETC_BINDS: Final = ("/etc/alternatives", "/etc/ssl/certs", "/etc/pki/tls/certs", "/etc/pki/ca-trust")
"""Folders of ``/etc`` that programs in ``/usr`` need. ``/etc/ssl`` as a whole would include private keys."""

ETC_COPIES: Final = ("ld.so.cache", "ld.so.conf", "ld.so.conf.d", "ssl/openssl.cnf")

MOUNT_POINTS: Final = ("usr", "proc", "dev", "tmp", "tool", "workspace", "home", "run", "var", "opt/toolc/site")

NO_HOST_PYTHON: Final = (
    "host_programs: true in your configuration needs Python 3.9 or later in /usr; install it: apt-get install python3"
)


@dataclass(frozen=True, slots=True)
class Interpreter:
    """The Python that runs the guest: its path, and the folder to bind for it (None if it is in ``/usr``)."""

    path: str
    prefix: str | None


def interpreter() -> Interpreter | None:
    """Return the host's Python 3.9 or later, or the one that runs toolc. Return None if sandboxes can use neither."""
    system = os.path.realpath("/usr/bin/python3")
    version = re.fullmatch(r"/usr/(?:local/)?bin/python3\.(\d+)", system)
    if version and int(version[1]) >= 9 and os.access(system, os.X_OK):
        return Interpreter(path=system, prefix=None)
    prefix = os.path.realpath(sys.base_prefix)
    own = Path(prefix) / "bin" / f"python{sys.version_info.major}.{sys.version_info.minor}"
    if prefix == "/" or not os.access(own, os.X_OK):
        return None
    return Interpreter(path=str(own), prefix=None if own.is_relative_to("/usr") else prefix)


def python_binds(python: Interpreter) -> list[str]:
    """Return the host folders that are bound read-only at the same path in the sandbox."""
    unmerged = [f"/{name}" for name in LINKS if Path(f"/{name}").is_dir() and not Path(f"/{name}").is_symlink()]
    etc = [path for path in ETC_BINDS if Path(path).is_dir()]
    return ["/usr", *unmerged, *etc, *([python.prefix] if python.prefix else [])]


def build_skeleton(root: Path, user: SandboxUser, python: Interpreter) -> None:
    """Create the skeleton at ``root``, which must not exist. Raises ``OSError``."""
    root.mkdir(mode=0o755)
    for name in (*MOUNT_POINTS, *(path.lstrip("/") for path in python_binds(python))):
        (root / name).mkdir(mode=0o755, parents=True, exist_ok=True)
    for name in LINKS:
        if Path(f"/{name}").is_symlink():
            (root / name).symlink_to(Path(f"/{name}").readlink())
    (root / "var/tmp").symlink_to("../tmp")
    _write_etc(root / "etc", user)
    _make_readable(root)
    for name in ("tmp", "tool"):
        # The runtime gives a mount the mode of its mount point, whatever the mount's options are.
        (root / name).chmod(0o1777)


@dataclass(frozen=True, slots=True, kw_only=True)
class RootSpec:
    """The root of a sandbox: an image, or the host's own programs if ``image`` is None.

    ``command`` starts the guest's Python (see ``on_host``). ``binds`` are host folders (source, target) that are
    bound read-only. ``packages`` returns the installed packages as in ``ContentDigests``.
    """

    image: Unpacked | None = None
    command: tuple[str, ...] = ()
    binds: tuple[tuple[str, str], ...] = ()
    packages: Callable[[], tuple[str, ...]] = field(default=tuple, compare=False)

    @property
    def used(self) -> ImageUsed:
        """The image as shown in ``details``."""
        return self.image.used if self.image else HOST_PROGRAMS

    def on_host(self, python: Interpreter) -> "RootSpec":
        """Return this root with the host's programs bound, and the host's Python to start the guest."""
        programs = tuple((path, path) for path in python_binds(python))
        return RootSpec(command=(python.path,), binds=(*programs, *self.binds))


HOST = RootSpec()
"""The host's own programs without anything else."""


def _write_etc(etc: Path, user: SandboxUser) -> None:
    etc.mkdir(exist_ok=True)
    users = {user.uid: "tool"} | {0: "root", 65534: "nobody"}
    groups = {user.gid: "tool"} | {0: "root", 65534: "nogroup"}
    gids = {user.uid: user.gid}
    passwd = [f"{name}:x:{uid}:{gids.get(uid, uid)}::/tmp:/bin/sh\n" for uid, name in sorted(users.items())]
    group = [f"{name}:x:{gid}:\n" for gid, name in sorted(groups.items())]
    (etc / "passwd").write_text("".join(passwd), encoding="utf-8")
    (etc / "group").write_text("".join(group), encoding="utf-8")
    for name, text in FILES.items():
        (etc / name).write_text(text, encoding="utf-8")
    (etc / "nsswitch.conf").write_text("passwd: files\ngroup: files\nhosts: files\n", encoding="utf-8")
    for name in ETC_COPIES:
        source, target = Path("/etc") / name, etc / name
        with contextlib.suppress(FileNotFoundError):
            target.parent.mkdir(parents=True, exist_ok=True)
            if source.is_dir():
                shutil.copytree(source, target, copy_function=shutil.copyfile)
            else:
                shutil.copyfile(source, target)


def _make_readable(root: Path) -> None:
    # The mode must not depend on the umask, because the tool is not the user that creates these files.
    for folder, _, files in os.walk(root):
        Path(folder).chmod(0o755)
        for name in files:
            path = Path(folder) / name
            if not path.is_symlink():
                path.chmod(0o644)
