"""Where the Docker daemon is: the socket that ``docker`` itself would use, or Podman's."""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

INSTALL = (
    "Install Docker and start it (Debian, Ubuntu: sudo apt-get install docker.io; "
    "Fedora: sudo dnf install moby-engine && sudo systemctl enable --now docker)."
)
"""How to get a daemon, in one sentence."""


class NoHostError(Exception):
    """No daemon to talk to: what was found, and what to do about it."""

    def __init__(self, reason: str, remedy: str) -> None:
        super().__init__(f"{reason}. {remedy}")
        self.reason = reason
        self.remedy = remedy


def find_socket(environment: Mapping[str, str]) -> str:
    """The daemon's socket: ``DOCKER_HOST``, else the chosen context, else the first usual place that is there.

    What the user has chosen is never replaced. Raises ``NoHostError``.
    """
    if host := environment.get("DOCKER_HOST"):
        return _unix_path(host, "DOCKER_HOST")
    home = Path(environment.get("HOME") or "/")
    configuration = Path(environment.get("DOCKER_CONFIG") or home / ".docker")
    context = environment.get("DOCKER_CONTEXT") or _current_context(configuration)
    if context and context != "default":
        return _unix_path(_context_host(configuration, context), f"the Docker context {context!r}")
    for path in _usual_places(environment, home):
        if _is_socket(path):
            return str(path)
    raise NoHostError("no Docker daemon was found on this host", INSTALL)


def _usual_places(environment: Mapping[str, str], home: Path) -> Iterator[Path]:
    runtime = environment.get("XDG_RUNTIME_DIR")
    yield Path("/var/run/docker.sock")
    if runtime:
        yield Path(runtime) / "docker.sock"
    yield home / ".docker/run/docker.sock"
    if runtime:
        yield Path(runtime) / "podman/podman.sock"
    yield Path("/run/podman/podman.sock")


def _unix_path(host: str, origin: str) -> str:
    if host.startswith("unix://"):
        return host.removeprefix("unix://")
    raise NoHostError(
        f"{origin} is {host!r}, and toolc reaches Docker only over a Unix socket: "
        "tcp, ssh and TLS are not supported yet",
        "Set DOCKER_HOST=unix:///var/run/docker.sock to use this machine's own daemon.",
    )


def _current_context(configuration: Path) -> str:
    """The context that ``docker context use`` chose; empty if none was."""
    value = _json_object(configuration / "config.json").get("currentContext")
    return value if isinstance(value, str) else ""


def _context_host(configuration: Path, name: str) -> str:
    """A context's address. Its folder is named by the digest of its name (docker/cli, cli/context/store)."""
    digest = hashlib.sha256(name.encode()).hexdigest()
    endpoints = _json_object(configuration / "contexts/meta" / digest / "meta.json").get("Endpoints")
    endpoint = endpoints.get("docker") if isinstance(endpoints, dict) else None
    host = endpoint.get("Host") if isinstance(endpoint, dict) else None
    if isinstance(host, str):
        return host
    raise NoHostError(
        f"the Docker context {name!r} cannot be read", "Choose another one with: docker context use default"
    )


def _json_object(path: Path) -> dict[str, object]:
    try:
        value = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}


def _is_socket(path: Path) -> bool:
    try:
        return stat.S_ISSOCK(os.stat(path).st_mode)  # noqa: PTH116  Path.is_socket hides a refused look
    except PermissionError:
        return True
    except OSError:
        return False
