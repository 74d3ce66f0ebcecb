"""The daemon behind a socket: which version to speak with it, and what it can enforce."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from toolc.engines.docker_host import INSTALL, NoHostError
from toolc.engines.docker_http import ApiError, Client
from toolc.engines.docker_podman import is_podman
from toolc.engines.docker_runtime import DEFAULT, Runtime, runtimes
from toolc.model.json_schema import JsonObject, JsonValue

OLDEST_API: Final = (1, 40)
"""Docker 19.03, Podman 3. An older daemon silently ignores fields of ours, and so would drop a limit."""

NEWEST_API: Final = (1, 51)
"""The newest version whose rules this code was written for (Docker 28.3)."""

_ARCHITECTURES: Final = {"amd64": "x86_64", "arm64": "aarch64"}
"""Podman's words for machines."""

ASK_SECONDS: Final = 30.0
"""How long it may take over each question about the daemon itself: one that is merely slow must not fail a call."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Daemon:
    """A daemon that answers, and what it says it can do.

    ``id`` is the daemon's own; ``architecture`` and ``kernel`` its machine's, as ``uname -m`` and ``uname -r``
    say it. ``podman``: it is Podman that speaks (see ``docker_podman``).
    ``rootless``: user 0 inside is the daemon's own user outside. ``remaps_users``: user 0 inside is an unused
    user outside (``userns-remap``). ``runtimes``: the default one first.
    """

    client: Client
    version: str = ""
    id: str = ""
    kernel: str = ""
    cpus: int = 1
    limits_memory: bool = True
    limits_swap: bool = True
    limits_cpu: bool = True
    limits_pids: bool = True
    has_seccomp: bool = True
    podman: bool = False
    architecture: str = ""
    has_selinux: bool = False
    rootless: bool = False
    remaps_users: bool = False
    runtimes: tuple[Runtime, ...] = (DEFAULT,)


def connect(socket_path: str) -> Daemon:
    """Ask the daemon at ``socket_path`` what it is. Raises ``NoHostError`` where it will not do."""
    client = Client(socket_path)
    try:
        version = _object(client.call("GET", "/version", timeout=ASK_SECONDS))
        client = Client(socket_path, _version_prefix(version))
        info = _object(client.call("GET", "/info", timeout=ASK_SECONDS))
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
    cpus, podman = info.get("NCPU"), is_podman(version.get("Components"))
    architecture = _text(info, "Architecture", "")
    return Daemon(
        client=client,
        version=_text(version, "Version", "unknown"),
        id=_text(info, "ID", ""),
        kernel=_text(info, "KernelVersion", ""),
        cpus=cpus if isinstance(cpus, int) and cpus > 0 else 1,
        limits_memory=info.get("MemoryLimit") is True,
        limits_swap=info.get("SwapLimit") is True,
        limits_cpu=info.get("CpuCfsQuota") is True,
        limits_pids=info.get("PidsLimit") is True,
        has_seccomp="name=seccomp" in names,
        podman=podman,
        architecture=_ARCHITECTURES.get(architecture, architecture),
        has_selinux="name=selinux" in names,
        rootless="name=rootless" in names,
        remaps_users="name=userns" in names,
        # Podman lists every runtime that it has heard of, installed or not, and takes none from a request.
        runtimes=runtimes(info)[:1] if podman else runtimes(info),
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
