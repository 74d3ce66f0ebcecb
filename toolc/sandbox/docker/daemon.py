"""Connect to a daemon, choose the API version, and determine what the daemon can enforce."""

import hashlib
import os
import re
from pathlib import Path
from typing import Final

from toolc.dataclass import dataclass
from toolc.model.atomic_files import replace_file
from toolc.model.errors import raise_shortage
from toolc.model.json_schema import JsonObject, JsonValue, list_under, map_under
from toolc.model.plan import Profile
from toolc.model.spec.sandbox import MinIsolation
from toolc.sandbox.docker.api_client import INSTALL, ApiError, Client, NoDaemonError
from toolc.sandbox.host.owner import shared_directory
from toolc.sandbox.interface import ISOLATION

_KINDS: Final[tuple[tuple[MinIsolation, str], ...]] = (("gvisor", r"runsc|gvisor"), ("vm", r"kata"))
"""Patterns for the names of runtime programs, and their isolation. Any other runtime shares the host's kernel."""

_UNKNOWN_OPTIONS: Final = ("uid=", "gid=", "nr_inodes=")
"""The tmpfs options that Podman rejects."""

OLDEST_API: Final = (1, 40)
"""The oldest version (Docker 19.03, Podman 3). Older daemons silently ignore unknown fields, including limits."""

NEWEST_API: Final = (1, 51)
"""The newest version that this code was written for (Docker 28.3)."""

_ARCHITECTURES: Final = {"amd64": "x86_64", "arm64": "aarch64"}
"""Podman's names of architectures."""

QUERY_SECONDS: Final = 30.0
"""The timeout of each request about the daemon itself, in seconds. A slow daemon must not make a call fail."""

OWNER_LABEL: Final = "toolc.owner"
"""The label with the owner of a container: ``toolc.sandbox.host.owner.Owner.label()``."""

NAME_LABEL: Final = "toolc.image"
"""The label with the name of an image that toolc has built from its own recipe."""


@dataclass(frozen=True, slots=True)
class Runtime:
    """One registered runtime: its name, its isolation, and the daemon's description of it as a string."""

    name: str
    isolation: MinIsolation = "namespace"
    definition: str = ""


DEFAULT: Final = Runtime("runc")
"""The runtime of a daemon that does not list any."""


def runtimes(info: JsonObject) -> tuple[Runtime, ...]:
    """Return the runtimes in the response to ``GET /info``, the default first and the others by name."""
    first, entries = _text(info, "DefaultRuntime", "") or DEFAULT.name, map_under(info, "Runtimes")
    names = sorted({first, *entries}, key=lambda name: (name != first, name))
    return tuple(_runtime(name, map_under(entries, name)) for name in names)


def choose_runtime(registered: tuple[Runtime, ...], isolation: MinIsolation) -> Runtime | None:
    """Return a runtime with ``isolation`` or stronger: the default if it suffices, otherwise the weakest that does."""
    fit = [runtime for runtime in registered if ISOLATION.index(runtime.isolation) >= ISOLATION.index(isolation)]
    if registered[0] in fit:
        return registered[0]
    return min(fit, key=lambda runtime: ISOLATION.index(runtime.isolation), default=None)


def podman_isolation_error(profile: Profile) -> str:
    """Return why Podman cannot provide the isolation that ``profile`` requires, and the remedy."""
    return (
        f"the tool requires min_isolation: {profile.min_isolation}, but Podman starts every container with its "
        "default runtime, which does not provide it; set runtime in containers.conf to one that does, or use Docker"
    )


def podman_tmpfs_options(options: str) -> str:
    """Return the tmpfs options, except those that Podman rejects."""
    return ",".join(each for each in options.split(",") if not each.startswith(_UNKNOWN_OPTIONS))


def shared_file(name: str, text: str) -> Path:
    """Return the path of a file with this text, for options that Podman accepts only as files.

    The file name begins with ``name``. Raises ``InfrastructureError`` if there is no safe folder for the file.
    """
    folder = shared_directory()
    path = folder / f"{name}-{hashlib.sha256(text.encode()).hexdigest()[:16]}"
    if not path.exists():
        # Other processes and threads may write the same file, and a reader must find it complete.
        with replace_file(path) as file:
            file.write(text.encode())
            os.fchmod(file.fileno(), 0o644)
    return path


@dataclass(frozen=True, slots=True, kw_only=True)
class Daemon:
    """A daemon that responds, and its reported abilities.

    ``id`` is the daemon's ID. ``architecture`` and ``kernel`` are those of its machine, as in ``uname -m`` and
    ``uname -r``. ``podman`` is True if it is Podman. If it is ``rootless``, user 0 inside is the daemon's user outside.
    If it ``remaps_users`` (``userns-remap``), user 0 inside is an unused user outside. ``runtimes`` has the default
    runtime first.
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


class DaemonQuery:
    """The two requests about a daemon, which it answers in five milliseconds each. Both are sent at once."""

    def __init__(self, socket_path: str) -> None:
        """Send the requests to the daemon at ``socket_path``. Raises ``NoDaemonError``."""
        self._socket_path = socket_path
        client = Client(socket_path)
        try:
            # Without a version in the path, the daemon uses its newest one. The names of these fields are in all.
            self._version = client.send("GET", "/version", timeout=QUERY_SECONDS)
            self._info = client.send("GET", "/info", timeout=QUERY_SECONDS)
        except ApiError as error:
            raise _unreachable(socket_path, error) from error

    def read(self) -> Daemon:
        """Wait for the responses, and return the description of the daemon. Raises ``NoDaemonError``."""
        try:
            version = _object(self._version.read())
            client = Client(self._socket_path, _version_prefix(version))
            info = _object(self._info.read())
        except ApiError as error:
            raise _unreachable(self._socket_path, error) from error
        finally:
            self._version.close()
            self._info.close()
        if _text(info, "OSType", "linux") != "linux":
            raise NoDaemonError("the Docker daemon runs Windows containers", "Switch it to Linux containers.")
        return parse(client, version, info)


def connect(socket_path: str) -> Daemon:
    """Connect to the daemon at ``socket_path`` and return its description. Raises ``NoDaemonError``."""
    return DaemonQuery(socket_path).read()


def parse(client: Client, version: JsonObject, info: JsonObject) -> Daemon:
    """Parse the responses to ``GET /version`` and ``GET /info``. The daemon cannot enforce limits that they omit."""
    names = {part for option in list_under(info, "SecurityOptions") for part in str(option).split(",")}
    cpus, podman = info.get("NCPU"), "Podman" in str(version.get("Components"))
    architecture = _text(info, "Architecture", "")
    # Rootless Docker before 20.10.11 reports the limits of the machine, although it has no control groups.
    limited = info if info.get("CgroupDriver") != "none" else {}
    return Daemon(
        client=client,
        version=_text(version, "Version", "unknown"),
        id=_text(info, "ID", ""),
        kernel=_text(info, "KernelVersion", ""),
        cpus=cpus if isinstance(cpus, int) and cpus > 0 else 1,
        limits_memory=limited.get("MemoryLimit") is True,
        limits_swap=limited.get("SwapLimit") is True,
        limits_cpu=limited.get("CpuCfsQuota") is True,
        limits_pids=limited.get("PidsLimit") is True,
        has_seccomp="name=seccomp" in names,
        podman=podman,
        architecture=_ARCHITECTURES.get(architecture, architecture),
        has_selinux="name=selinux" in names,
        # Podman before 4.6 has a field of its own instead.
        rootless="name=rootless" in names or info.get("Rootless") is True,
        remaps_users="name=userns" in names,
        # Podman lists every runtime it knows, installed or not, and accepts none in a request.
        runtimes=runtimes(info)[:1] if podman else runtimes(info),
    )


def choose_version(newest: str, oldest: str) -> tuple[int, int]:
    """Return the API version to use with a daemon that supports ``oldest`` to ``newest``.

    It is the newest version that both sides support. If the daemon has dropped all versions known here, it is the
    daemon's oldest. Raises ``NoDaemonError`` if the daemon is too old.
    """
    supported = _version(newest)
    if supported < OLDEST_API:
        raise NoDaemonError(
            f"the Docker daemon supports API {newest or 'unknown'}, but toolc needs 1.40 (Docker 19.03) or later",
            "Update Docker.",
        )
    return max(min(supported, NEWEST_API), _version(oldest))


def _runtime(name: str, described: JsonObject) -> Runtime:
    # A runtime is specified by the path of its program or, since 23.0, by the name of a containerd shim.
    program = str(described.get("path") or described.get("runtimeType") or name)
    definition = " ".join(f"{key}={described[key]}" for key in sorted(described) if key != "status")
    matching = (isolation for isolation, pattern in _KINDS if re.search(pattern, program.rpartition("/")[2]))
    return Runtime(name, next(matching, "namespace"), definition)


def _version_prefix(version: JsonObject) -> str:
    major, minor = choose_version(_text(version, "ApiVersion", ""), _text(version, "MinAPIVersion", ""))
    return f"/v{major}.{minor}"


def _version(text: str) -> tuple[int, int]:
    major, _, minor = text.partition(".")
    return (int(major), int(minor)) if major.isdecimal() and minor.isdecimal() else (0, 0)


def _unreachable(socket_path: str, error: ApiError) -> NoDaemonError:
    if error.__cause__:
        raise_shortage(error.__cause__)
    match error.__cause__:
        case PermissionError():
            return NoDaemonError(
                f"this user has no permission to use the Docker daemon at {socket_path}",
                "Add yourself to its group (sudo usermod -aG docker $USER, then log in again) or set up "
                "rootless Docker (dockerd-rootless-setuptool.sh install).",
            )
        case FileNotFoundError():
            return NoDaemonError(f"there is no Docker daemon at {socket_path}", INSTALL)
        case ConnectionRefusedError():
            return NoDaemonError(f"no Docker daemon is listening at {socket_path}", "Run: sudo systemctl start docker")
        case _:
            reason = f"the Docker daemon at {socket_path} does not work: {error}"
            return NoDaemonError(reason, "Run this to see why: docker info")


def _object(value: JsonValue) -> JsonObject:
    if not isinstance(value, dict):
        raise ApiError("the server at this socket is not a Docker daemon")
    return value


def _text(value: JsonObject, key: str, default: str) -> str:
    found = value.get(key)
    return found if isinstance(found, str) else default
