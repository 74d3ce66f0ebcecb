"""The components that an engine's sandboxes use, with their versions."""

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from typing import Final

from toolc.doctor.advisories import Component
from toolc.model.json_schema import JsonObject, JsonValue
from toolc.sandbox.docker.api_client import ApiError, NoDaemonError, find_socket
from toolc.sandbox.docker.daemon import Daemon, connect
from toolc.sandbox.oci import probe

PACKAGES: Final = {"docker": "docker.io", "containerd": "containerd", "runc": "runc", "podman": "podman"}
"""The packages of these programs on Debian and its derivatives, by their names in the advisories."""

_NAMES: Final = {"Engine": "docker", "Podman Engine": "podman", "containerd": "containerd", "runc": "runc"}
"""The names of components in the advisories, by their names in the daemon's response."""

_SECONDS: Final = 10.0
"""How long the daemon, or a runtime that prints its version, may take, in seconds.

A report must end soon. An engine that does not respond in time is reported.
"""


def docker_components() -> tuple[Component, ...]:
    """Return the daemon, its components, its gVisor and its kernel. Empty if no daemon responds."""
    try:
        daemon = connect(find_socket(os.environ))
        version = daemon.client.call("GET", "/version", timeout=_SECONDS)
    except (NoDaemonError, ApiError):
        return ()
    kernel = Component(name="kernel", version=daemon.kernel)
    return (*parse_docker_version(version if isinstance(version, dict) else {}), *_gvisor(daemon), kernel)


def parse_docker_version(version: JsonObject) -> tuple[Component, ...]:
    """Return the components in the response to ``GET /version``."""
    listed = version.get("Components")
    parts = [part for part in listed if isinstance(part, dict)] if isinstance(listed, list) else []
    found = [Component(name="docker desktop", version=name[1]) for name in _desktop(version.get("Platform"))]
    for part in parts:
        reported = str(part.get("Name", ""))
        if "OCI Runtime" in reported and "runc" in reported:
            reported = "runc"
        if name := _NAMES.get(reported):
            found.append(Component(name=name, version=_number(part), package=PACKAGES[name]))
    return tuple(found)


def _number(part: JsonObject) -> str:
    """Return the version of a component. If a distribution adds its own, return the longer one."""
    # Podman reports the whole version output of its runtime.
    version = re.sub(r"(?s)^runc version (\S+).*", r"\1", str(part.get("Version", "")))
    details = part.get("Details")
    commit = details.get("GitCommit") if isinstance(details, dict) else None
    return commit if isinstance(commit, str) and commit.startswith(version) else version


def _desktop(platform: JsonValue) -> Iterator[re.Match[str]]:
    name = platform.get("Name") if isinstance(platform, dict) else None
    yield from re.finditer(r"^Docker Desktop (\d\S*)", name if isinstance(name, str) else "")


def _gvisor(daemon: Daemon) -> Iterator[Component]:
    """Yield gVisor. Only its program reports its version, so it must be on this machine."""
    for runtime in daemon.runtimes:
        path = re.search(r"\bpath=(\S+)", runtime.definition)
        program = shutil.which(path[1]) if path else None
        if runtime.isolation == "gvisor" and program and (output := _version_output(program)):
            version = output.partition("\n")[0].removeprefix("runsc version ")
            yield Component(name="gvisor", version=version, package="runsc")


def _version_output(program: str, seconds: float = _SECONDS) -> str | None:
    """Return the output of ``PROGRAM --version``, or None if it cannot be run."""
    try:
        argv = [program, "--version"]
        return subprocess.run(argv, env={}, capture_output=True, text=True, timeout=seconds, check=False).stdout
    except (OSError, subprocess.TimeoutExpired):
        return None


def oci_components() -> tuple[Component, ...]:
    """Return the runtime and this machine's kernel. Empty if there is no runtime."""
    path = probe.runtime()
    if path is None:
        return ()
    output = _version_output(path, probe.VERSION_SECONDS)
    if output is None:
        return ()
    system = os.uname()
    kernel = Component(name="kernel", version=kernel_version(system.release, system.version))
    return (*parse_runc_version(output), kernel)


COMPONENTS: Final[dict[str, Callable[[], tuple[Component, ...]]]] = {"docker": docker_components, "oci": oci_components}
"""The function that returns the components of an engine, by the engine's name."""


def parse_runc_version(text: str) -> tuple[Component, ...]:
    """Parse the version output of runc. A distribution may replace the commit with its package's version."""
    version = re.search(r"^runc version (\S+)", text, re.MULTILINE)
    if version is None:
        return ()
    commit = re.search(r"^commit: (\S+)", text, re.MULTILINE)
    whole = commit[1] if commit and commit[1].startswith(version[1]) else version[1]
    return (Component(name="runc", version=whole, package="runc"),)


def kernel_version(release: str, version: str) -> str:
    """Return the kernel's version from ``uname -r`` and ``uname -v``. Debian's release is only in the latter."""
    debian = re.search(r"\bDebian (\d\S+)", version)
    return debian[1] if debian else release
