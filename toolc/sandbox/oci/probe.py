"""The requirements of the oci engine that this host does not meet, and the remedies."""

import functools
import os
import platform
import shutil
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import Final

from toolc.model.errors import InfrastructureError, raise_shortage
from toolc.model.plan import LimitName
from toolc.sandbox import seccomp
from toolc.sandbox.host import cgroups, store
from toolc.sandbox.interface import Capabilities, Enforcement, EngineStatus, Level, User
from toolc.sandbox.oci.user_namespace import NOBODY, UNUSED

RUNTIME: Final = "runc"
RUNTIMES: Final = "runtimes"
"""The notes in the store on runtimes that were found."""

SEARCH_PATH: Final = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
VERSION_SECONDS: Final = 30.0
"""How long the runtime may take to print its version, in seconds.

It normally takes milliseconds, but a busy machine does not mean that the runtime is broken.
"""

CAP_SYS_ADMIN: Final = 21
"""From ``linux/capability.h``."""

NEEDED_SETTINGS: Final = (
    ("user.max_user_namespaces", 0, "sysctl -w user.max_user_namespaces=15000"),
    ("kernel.unprivileged_userns_clone", 0, "sysctl -w kernel.unprivileged_userns_clone=1"),
    ("kernel.apparmor_restrict_unprivileged_userns", 1, "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0"),
)
"""Kernel settings, the values that keep ordinary users from creating user namespaces, and the remedies."""

_LIMITS: Final[dict[str, tuple[LimitName, Level, str]]] = {
    "memory": ("memory", "approximate", "each process separately"),
    "pids": ("pids", "approximate", "the processes of the tool's user"),
    "cpu": ("cpus", "not", "nothing"),
}
"""For each controller: the limit that needs it, how it is enforced without the controller, and the replacement."""


def runtime() -> str | None:
    """Return the path of the runtime, or None if it is not installed."""
    # Distributions install it in sbin, which is not in the PATH of an ordinary user.
    return shutil.which(RUNTIME, path=f"{os.environ.get('PATH', '')}:{SEARCH_PATH}")


def probe() -> EngineStatus:
    """Return whether a runtime is available, and a kernel that allows its operations."""
    path = runtime()
    if path is None:
        return _lacks("runc is not installed", "Install it with the package manager: apt-get install runc")
    if platform.machine() not in seccomp.ARCHITECTURES:
        return _lacks(f"there is no system call filter for {platform.machine()}", "Use another engine")
    found = _root_lacks() if os.geteuid() == 0 else _user_lacks()
    return found or _version(path)


def capabilities() -> Capabilities:
    """Return what runc enforces for this process, determined by creating control groups."""
    missing = cgroups.unenforceable()
    reason, remedy = _explain(missing)
    weak = {
        name: Enforcement(level=level, reason=reason, instead=instead, remedy=remedy)
        for name, level, instead in map(_LIMITS.__getitem__, missing)
    }
    users: tuple[User, ...] = ("owner", "nobody") if os.geteuid() == 0 else ("owner",)
    return Capabilities(weak=weak, users=users, overlay_obstacle="")


def _root_lacks() -> EngineStatus | None:
    status = dict(line.split(":\t", 1) for line in _lines("/proc/self/status"))
    if not int(status["CapEff"], 16) >> CAP_SYS_ADMIN & 1:
        reason = "root has no CAP_SYS_ADMIN here, as in an unprivileged container"
        return _lacks(reason, "Run toolc outside of the container")
    if _setting("user.max_user_namespaces") == 0:
        return _lacks("user namespaces are disabled", "Run: sysctl -w user.max_user_namespaces=15000")
    ranges = [[int(number) for number in line.split()] for line in _lines("/proc/self/uid_map")]
    if not any(first <= UNUSED and first + count > UNUSED + NOBODY for first, _, count in ranges):
        return _lacks(f"this user namespace does not map uid {UNUSED}", "Run toolc outside of the container")
    return None


def _user_lacks() -> EngineStatus | None:
    for name, forbidding, remedy in NEEDED_SETTINGS:
        if _setting(name) == forbidding:
            reason = f"ordinary users may not create user namespaces ({name} is {forbidding})"
            return _lacks(reason, f"Ask an administrator to run: {remedy}")
    return None


@functools.cache
def _version(path: str) -> EngineStatus:
    """Return the status with the version of the program. It is stored until the file changes: to ask takes 10 ms."""
    with suppress(InfrastructureError, OSError):
        if (note := store.read_note(RUNTIMES, path)) and note.get("file") == _identity(path):
            return EngineStatus(available=True, version=str(note.get("version")))
    try:
        # The environment is empty, because toolc's may contain secrets.
        argv, file = [path, "--version"], _identity(path)
        done = subprocess.run(argv, env={}, capture_output=True, text=True, timeout=VERSION_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise_shortage(error)
        return _lacks(f"{path} does not run: {error}", "Install runc again")
    first = done.stdout.partition("\n")[0]
    if done.returncode != 0 or not first.startswith("runc version "):
        return _lacks(f"{path} is not runc: it prints {first!r}", "Put runc first in PATH")
    version = first.removeprefix("runc version ")
    with suppress(InfrastructureError):  # for example, there is no space
        store.write_note(RUNTIMES, path, {"file": file, "version": version})
    return EngineStatus(available=True, version=version)


def _identity(path: str) -> str:
    file = Path(path).stat()
    return f"{file.st_dev} {file.st_ino} {file.st_size} {file.st_mtime_ns} {file.st_ctime_ns}"


def _lacks(reason: str, remedy: str) -> EngineStatus:
    return EngineStatus(available=False, reason=f"{reason}.", remedy=f"{remedy}.")


def _setting(name: str) -> int | None:
    try:
        return int(Path("/proc/sys", *name.split(".")).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def _lines(path: str) -> list[str]:
    return Path(path).read_text(encoding="utf-8").splitlines()


def _explain(missing: list[str]) -> tuple[str, str]:
    """Return why these controllers cannot be used, and the remedy."""
    if os.geteuid() == 0:
        return (
            f"No control group with {', '.join(missing)} can be created below /sys/fs/cgroup.",
            "Run toolc outside of this container, or mount the control groups writable.",
        )
    return (
        f"No control group with {', '.join(missing)} is delegated to this user.",
        "Run it as root, or in a delegated group: systemd-run --user --scope -p Delegate=yes toolc run TOOL.",
    )
