"""What a Docker daemon's sandboxes are made of, as it says itself."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from typing import Final

from toolc.doctor.advisories import Component
from toolc.model.json_schema import JsonObject, JsonValue
from toolc.sandbox.docker.api_client import ApiError, NoHostError, find_socket
from toolc.sandbox.docker.daemon import Daemon, connect
from toolc.sandbox.oci import probe

PACKAGES: Final = {"docker": "docker.io", "containerd": "containerd", "runc": "runc", "podman": "podman"}
"""What Debian and its kin call these programs; the name of each as the advisories have it."""

_NAMES: Final = {"Engine": "docker", "Podman Engine": "podman", "containerd": "containerd", "runc": "runc"}
"""The daemon's words for its parts."""

_SECONDS: Final = 10.0
"""How long the daemon, or a runtime that is asked for its version, may take."""


def docker_components() -> tuple[Component, ...]:
    """The daemon, its parts, its gVisor and its kernel; nothing where no daemon answers."""
    try:
        daemon = connect(find_socket(os.environ))
        answer = daemon.client.call("GET", "/version", timeout=_SECONDS)
    except (NoHostError, ApiError):
        return ()
    kernel = Component(name="kernel", version=daemon.kernel)
    return (*parse_docker_version(answer if isinstance(answer, dict) else {}), *_gvisor(daemon), kernel)


def parse_docker_version(version: JsonObject) -> tuple[Component, ...]:
    """What ``GET /version`` says."""
    listed = version.get("Components")
    parts = [part for part in listed if isinstance(part, dict)] if isinstance(listed, list) else []
    found = [Component(name="docker desktop", version=name[1]) for name in _desktop(version.get("Platform"))]
    for part in parts:
        said = str(part.get("Name", ""))
        if "OCI Runtime" in said and "runc" in said:
            said = "runc"
        if name := _NAMES.get(said):
            found.append(Component(name=name, version=_number(part), package=PACKAGES[name]))
    return tuple(found)


def _number(part: JsonObject) -> str:
    """Its version; the longer one where a distribution keeps its own beside it."""
    # Podman tells the whole of what its runtime says.
    version = re.sub(r"(?s)^runc version (\S+).*", r"\1", str(part.get("Version", "")))
    details = part.get("Details")
    commit = details.get("GitCommit") if isinstance(details, dict) else None
    return commit if isinstance(commit, str) and commit.startswith(version) else version


def _desktop(platform: JsonValue) -> Iterator[re.Match[str]]:
    said = platform.get("Name") if isinstance(platform, dict) else None
    yield from re.finditer(r"^Docker Desktop (\d\S*)", said if isinstance(said, str) else "")


def _gvisor(daemon: Daemon) -> Iterator[Component]:
    """gVisor says its version only itself, and only where it is on this machine."""
    for runtime in daemon.runtimes:
        path = re.search(r"\bpath=(\S+)", runtime.definition)
        program = shutil.which(path[1]) if path else None
        if runtime.isolation == "gvisor" and program and (said := _asked(program)):
            yield Component(name="gvisor", version=said, package="runsc")


def _asked(program: str) -> str:
    try:
        done = subprocess.run(
            [program, "--version"], env={}, capture_output=True, text=True, timeout=_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.partition("\n")[0].removeprefix("runsc version ")


def oci_components() -> tuple[Component, ...]:
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
    return (
        *parse_runc_version(done.stdout),
        Component(name="kernel", version=kernel_version(system.release, system.version)),
    )


def parse_runc_version(text: str) -> tuple[Component, ...]:
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
