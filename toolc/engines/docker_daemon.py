"""The daemon behind a socket: which version to speak with it, and what it can enforce."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from toolc.engines.docker_host import INSTALL, NoHostError
from toolc.engines.docker_http import ApiError, Client
from toolc.schema import JsonObject, JsonValue

OLDEST_API: Final = (1, 40)
"""Docker 19.03, Podman 3. An older daemon silently ignores fields of ours, and so would drop a limit."""

NEWEST_API: Final = (1, 51)
"""The newest version whose rules this code was written for (Docker 28.3)."""

_TIMEOUT: Final = 5.0
"""Seconds for each question about the daemon itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Daemon:
    """A daemon that answers, and what it says it can do.

    ``architecture`` is its machine's, as ``uname -m`` says it. ``takes_seccomp``: a request may bring a
    filter (Podman takes only the name of a file of its own). ``rootless``: user 0 inside is the daemon's
    own user outside. ``remaps_users``: user 0 inside is an unused user outside (``userns-remap``).
    """

    client: Client
    version: str = ""
    cpus: int = 1
    limits_memory: bool = True
    limits_swap: bool = True
    limits_cpu: bool = True
    limits_pids: bool = True
    has_seccomp: bool = True
    takes_seccomp: bool = True
    architecture: str = ""
    rootless: bool = False
    remaps_users: bool = False


def connect(socket_path: str) -> Daemon:
    """Ask the daemon at ``socket_path`` what it is. Raises ``NoHostError`` where it will not do."""
    client = Client(socket_path)
    try:
        version = _object(client.call("GET", "/version", timeout=_TIMEOUT))
        client = Client(socket_path, _version_prefix(version))
        info = _object(client.call("GET", "/info", timeout=_TIMEOUT))
    except ApiError as error:
        raise _unreachable(socket_path, error) from error
    if _text(info, "OSType", "linux") != "linux":
        raise NoHostError("the Docker daemon runs Windows containers", "Switch it to Linux containers.")
    return parse(client, version, info)


def parse(client: Client, version: JsonObject, info: JsonObject) -> Daemon:
    """What ``GET /version`` and ``GET /info`` say; a limit not mentioned is one that cannot be enforced."""
    options = info.get("SecurityOptions")
    words = [str(option) for option in options] if isinstance(options, list) else []
    names = {part for word in words for part in word.split(",")}
    cpus = info.get("NCPU")
    return Daemon(
        client=client,
        version=_text(version, "Version", "unknown"),
        cpus=cpus if isinstance(cpus, int) and cpus > 0 else 1,
        limits_memory=info.get("MemoryLimit") is True,
        limits_swap=info.get("SwapLimit") is True,
        limits_cpu=info.get("CpuCfsQuota") is True,
        limits_pids=info.get("PidsLimit") is True,
        has_seccomp="name=seccomp" in names,
        takes_seccomp="Podman" not in str(version.get("Components")),
        architecture=_text(info, "Architecture", ""),
        rootless="name=rootless" in names,
        remaps_users="name=userns" in names,
    )


def choose_version(newest: str, oldest: str) -> tuple[int, int]:
    """The API version to speak with a daemon that speaks ``oldest`` to ``newest``. Raises ``NoHostError``.

    The newest that both know; a daemon that has dropped all we know is spoken to in its oldest.
    """
    theirs = _version(newest)
    if theirs < OLDEST_API:
        raise NoHostError(
            f"the Docker daemon speaks API {newest or 'unknown'}, and toolc needs 1.40 (Docker 19.03) or newer",
            "Update Docker.",
        )
    return max(min(theirs, NEWEST_API), _version(oldest))


def _version_prefix(version: JsonObject) -> str:
    major, minor = choose_version(_text(version, "ApiVersion", ""), _text(version, "MinAPIVersion", ""))
    return f"/v{major}.{minor}"


def _version(text: str) -> tuple[int, int]:
    major, _, minor = text.partition(".")
    return (int(major), int(minor)) if major.isdecimal() and minor.isdecimal() else (0, 0)


def _unreachable(socket_path: str, error: ApiError) -> NoHostError:
    match error.__cause__:
        case PermissionError():
            return NoHostError(
                f"this user may not use the Docker daemon at {socket_path}",
                "Add yourself to its group (sudo usermod -aG docker $USER, then log in again) or set up "
                "rootless Docker (dockerd-rootless-setuptool.sh install).",
            )
        case FileNotFoundError():
            return NoHostError(f"there is no Docker daemon at {socket_path}", INSTALL)
        case ConnectionRefusedError():
            return NoHostError(
                f"no Docker daemon listens at {socket_path}", "Start it with: sudo systemctl start docker"
            )
        case _:
            return NoHostError(
                f"the Docker daemon at {socket_path} does not work: {error}",
                "See what it says with: docker info",
            )


def _object(value: JsonValue) -> JsonObject:
    if not isinstance(value, dict):
        raise ApiError("what answered is not a Docker daemon")
    return value


def _text(value: JsonObject, key: str, default: str) -> str:
    found = value.get(key)
    return found if isinstance(found, str) else default
