"""What the oci engine's sandboxes are made of."""

from __future__ import annotations

import os
import re
import subprocess

from toolc.engines.advisories import Component
from toolc.sandbox.oci import probe


def components() -> tuple[Component, ...]:
    """The runtime and this machine's kernel; nothing where there is no runtime."""
    path = probe.runtime()
    if path is None:
        return ()
    try:
        done = subprocess.run(
            [path, "--version"],
            env={},
            capture_output=True,
            text=True,
            timeout=probe.VERSION_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ()
    system = os.uname()
    return (*parse(done.stdout), Component(name="kernel", version=kernel_version(system.release, system.version)))


def parse(text: str) -> tuple[Component, ...]:
    """What the runtime says of its version. A distribution puts its package's number where a commit stands."""
    version = re.search(r"^runc version (\S+)", text, re.MULTILINE)
    if version is None:
        return ()
    commit = re.search(r"^commit: (\S+)", text, re.MULTILINE)
    whole = commit[1] if commit and commit[1].startswith(version[1]) else version[1]
    return (Component(name="runc", version=whole, package="runc"),)


def kernel_version(release: str, version: str) -> str:
    """The kernel's version, from ``uname -r`` and ``uname -v``: only there Debian says which release it is."""
    debian = re.search(r"\bDebian (\d\S+)", version)
    return debian[1] if debian else release
