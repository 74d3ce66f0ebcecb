"""What this host lacks for the oci engine, and what to do about it."""

from __future__ import annotations

import functools
import os
import platform
import shutil
import subprocess
from pathlib import Path
from typing import Final

from toolc.engines import oci_rootfs, oci_seccomp
from toolc.engines.base import Probe
from toolc.engines.oci_user import NOBODY, UNUSED

RUNTIME: Final = "runc"
SEARCH_PATH: Final = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
VERSION_SECONDS: Final = 30.0
"""How long the runtime may take to say its version."""

CAP_SYS_ADMIN: Final = 21


def runtime() -> str | None:
    """The path of the runtime; None if it is not installed."""
    # An ordinary user's PATH has no sbin, which is where distributions put it.
    return shutil.which(RUNTIME, path=f"{os.environ.get('PATH', '')}:{SEARCH_PATH}")


def probe() -> Probe:
    """Whether there is a runtime, a kernel that allows what it does, and a Python for the guest."""
    path = runtime()
    if path is None:
        return _lacks("runc is not installed", "Install it with the package manager: apt-get install runc")
    if platform.machine() not in oci_seccomp.ARCHITECTURES:
        return _lacks(f"there is no system call filter for {platform.machine()}", "Use another engine")
    if oci_rootfs.interpreter() is None:
        return _lacks("/usr has no Python 3.9 or later", "Install it: apt-get install python3")
    found = _root_lacks() if os.geteuid() == 0 else _user_lacks()
    return found or _version(path)


def _root_lacks() -> Probe | None:
    status = dict(line.split(":\t", 1) for line in _lines("/proc/self/status"))
    if not int(status["CapEff"], 16) >> CAP_SYS_ADMIN & 1:
        reason = "root has no CAP_SYS_ADMIN here, as in an unprivileged container"
        return _lacks(reason, "Run toolc outside of it")
    if _setting("user.max_user_namespaces") == 0:
        return _lacks("user namespaces are turned off", "Run: sysctl -w user.max_user_namespaces=15000")
    ranges = [[int(number) for number in line.split()] for line in _lines("/proc/self/uid_map")]
    if not any(first <= UNUSED and first + count > UNUSED + NOBODY for first, _, count in ranges):
        return _lacks(f"this user namespace has no uid {UNUSED} to give to a tool", "Run toolc outside of it")
    return None


NEEDED_SETTINGS: Final = (
    ("user.max_user_namespaces", 0, "sysctl -w user.max_user_namespaces=15000"),
    ("kernel.unprivileged_userns_clone", 0, "sysctl -w kernel.unprivileged_userns_clone=1"),
    ("kernel.apparmor_restrict_unprivileged_userns", 1, "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0"),
)
"""A kernel setting, the value that forbids an ordinary user to make user namespaces, and the remedy."""


def _user_lacks() -> Probe | None:
    for name, forbidding, remedy in NEEDED_SETTINGS:
        if _setting(name) == forbidding:
            reason = f"ordinary users may not make user namespaces ({name} is {forbidding})"
            return _lacks(reason, f"Let an administrator run: {remedy}")
    return None


@functools.cache
def _version(path: str) -> Probe:
    try:
        # An environment of its own: toolc's may hold secrets.
        done = subprocess.run(
            [path, "--version"], env={}, capture_output=True, text=True, timeout=VERSION_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return _lacks(f"{path} does not run: {error}", "Install runc again")
    first = done.stdout.partition("\n")[0]
    if done.returncode != 0 or not first.startswith("runc version "):
        return _lacks(f"{path} is not runc: it says {first!r}", "Put runc first in PATH")
    return Probe(available=True, version=first.removeprefix("runc version "))


def _lacks(reason: str, remedy: str) -> Probe:
    return Probe(available=False, reason=f"{reason}.", remedy=f"{remedy}.")


def _setting(name: str) -> int | None:
    try:
        return int(Path("/proc/sys", *name.split(".")).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def _lines(path: str) -> list[str]:
    return Path(path).read_text(encoding="utf-8").splitlines()
