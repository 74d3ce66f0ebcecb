"""What one call asks of an engine: pure data, in no engine's words."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Final, Literal, TypeAlias, get_args

from toolc.model.destinations import is_loopback
from toolc.model.http_plan import HttpCall
from toolc.model.json_schema import JsonObject
from toolc.model.spec.code_backends import File
from toolc.model.spec.sandbox import Build, Destination, EnvVar, Limits, MinIsolation

__all__ = [
    "AUTO",
    "ENGINES",
    "LIMITS",
    "LOCALHOST",
    "PROXY_PORT",
    "Exec",
    "LimitName",
    "LoopbackProxy",
    "Mount",
    "Plan",
    "PluginCall",
    "Profile",
    "PythonCall",
    "SecretFile",
    "engine_names",
    "loopback",
    "proxy_environment",
]

LOCALHOST: Final = "localhost"
"""The one name that is not looked up: it always means the machine that toolc runs on (RFC 6761, 6.3)."""

PROXY_PORT: Final = 3128


@dataclass(frozen=True, slots=True, kw_only=True)
class PortForward:
    """A listener: what connects to this address is brought to ``host``, at the same port."""

    address: str
    port: int
    host: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopbackProxy:
    """The listeners of a sandbox. ``hosts`` are addresses and names for ``/etc/hosts``.

    ``proxy`` is the address of the HTTP proxy, at ``PROXY_PORT``; ``direct`` are the hosts that programs reach
    without it.
    """

    hosts: tuple[tuple[str, str], ...] = ()
    forwards: tuple[PortForward, ...] = ()
    proxy: str | None = None
    direct: tuple[str, ...] = ()


def loopback(allow: Sequence[Destination]) -> LoopbackProxy:
    """The listeners for an allow-list: the same for the same entries, whatever their order."""
    if not allow:
        return LoopbackProxy()
    exact = sorted({(each.host, each.port) for each in allow if each.kind == "exact"})
    literals = {host for host, _ in exact if host != LOCALHOST and is_loopback(host)}
    free = _addresses(literals)
    names = {host: next(free) for host in dict.fromkeys(host for host, _ in exact if _is_name(host))}
    # A literal says what is meant; its listener serves localhost as well.
    listened = {("127.0.0.1", port): LOCALHOST for host, port in exact if host == LOCALHOST}
    listened |= {(names.get(host, host), port): host for host, port in exact if host in names or host in literals}
    above = [f".{each.host}" for each in allow if each.kind == "wildcard"]
    # Programs take a name in no_proxy for all below it too, where an entry may allow something.
    alone = [
        name for name in names if not any(f".{name}".endswith(each) or each.endswith(f".{name}") for each in above)
    ]
    is_public = any(each.kind == "public" for each in allow)
    return LoopbackProxy(
        # With the root's dot too: hosts(5) knows a name by its letters.
        hosts=tuple((address, each) for name, address in names.items() for each in (name, f"{name}.")),
        forwards=tuple(
            PortForward(address=address, port=port, host=host) for (address, port), host in sorted(listened.items())
        ),
        proxy=next(free),
        direct=tuple(sorted({LOCALHOST, "127.0.0.1", "::1", *literals, *([] if is_public else alone)})),
    )


def proxy_environment(found: LoopbackProxy) -> tuple[EnvVar, ...]:
    """The variables that send programs to the proxy, in both spellings; none where there is no proxy.

    There is no standard: curl reads ``http_proxy`` in lower case only, many programs either. Node reads them since
    22.21, if it is told to.
    """
    if found.proxy is None:
        return ()
    values = dict.fromkeys(("http_proxy", "https_proxy", "all_proxy"), f"http://{found.proxy}:{PROXY_PORT}")
    values["no_proxy"] = ",".join(found.direct)
    both = values | {name.upper(): value for name, value in values.items()} | {"NODE_USE_ENV_PROXY": "1"}
    return tuple(EnvVar(name=name, value=value) for name, value in sorted(both.items()))


def _is_name(host: str) -> bool:
    if host == LOCALHOST:
        return False
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return True
    return False


def _addresses(taken: set[str]) -> Iterator[str]:
    """Loopback addresses that no entry names, beginning with 127.0.1.1."""
    first = int(ipaddress.IPv4Address("127.0.1.1"))
    for number in range(first, first + (1 << 16)):
        address = str(ipaddress.IPv4Address(number))
        if address not in taken:
            yield address


@dataclass(frozen=True, slots=True, kw_only=True)
class Mount:
    """The workspace: a checked, absolute host folder that stands at ``/workspace``.

    ``owner`` and ``group`` are the folder's uid and gid on the host, ``device`` and ``inode`` tell it from
    every other folder there (both 0 where nobody has looked). ``overlay`` shows the folder below what the
    call writes. ``scratch`` is the private folder of a call's view: its engine makes ``upper`` and ``work`` in
    it for an overlay, and a copy stands in it. ``pinned`` is a path of the same folder that nobody can swap,
    as long as this process lives.
    """

    source: str
    mode: Literal["ro", "rw", "overlay"]
    owner: int
    group: int
    device: int = 0
    inode: int = 0
    scratch: str = ""
    pinned: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """What is fixed when a sandbox is made. Two calls may share a kind of sandbox only if these are equal.

    ``accept_unenforced`` names the limits that the user, in his own configuration, can do without.
    ``loopback`` is what programs in it can connect to.
    """

    image: str | None = None
    workspace: Mount | None = None
    limits: Limits = field(default_factory=Limits)
    min_isolation: MinIsolation = "namespace"
    nonroot: bool = False
    build: Build | None = None
    requirements: tuple[str, ...] = ()
    accept_unenforced: tuple[str, ...] = ()
    loopback: LoopbackProxy = field(default_factory=LoopbackProxy)

    @property
    def hosts(self) -> tuple[tuple[str, str], ...]:
        """Addresses and names that the sandbox's ``/etc/hosts`` has beside its own."""
        return self.loopback.hosts


@dataclass(frozen=True, slots=True, kw_only=True)
class Exec:
    """Run a program. ``files`` are written under ``/tool`` first (a script, for one).

    With ``progress``, lines ``::progress 40 text`` on its stderr are reports and no output.
    """

    tag: ClassVar[str] = "exec"
    argv: tuple[str, ...]
    files: tuple[File, ...] = ()
    progress: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PythonCall:
    """Call ``function`` of the module in ``entry`` (a path in ``files``) with ``arguments`` as keywords."""

    tag: ClassVar[str] = "python"
    entry: str
    function: str
    arguments: JsonObject
    files: tuple[File, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginCall:
    """Pass one call to the process ``argv``, which serves many, if it says of itself what was reviewed.

    ``tool`` is what the process calls the tool; ``description`` and ``parameters`` are the reviewed ones.
    """

    tag: ClassVar[str] = "plugin"
    argv: tuple[str, ...]
    tool: str
    description: str
    parameters: JsonObject
    arguments: JsonObject
    files: tuple[File, ...] = ()


Invocation: TypeAlias = Exec | PythonCall | HttpCall | PluginCall


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretFile:
    """A secret that the tool reads from a file: ``path`` is below ``/tool``; nobody but the tool can read it."""

    path: str
    text: str = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """One call, whole: the sandbox it needs and what is to happen in it.

    ``env`` is all of the tool's environment; ``stdin`` is empty where the tool reads none. ``allow`` is what
    the call may connect to. ``keep_bytes`` is how much of a stream is brought for reading on, where that is more
    than the output limit.
    """

    profile: Profile
    invocation: Invocation
    call_id: str
    env: tuple[EnvVar, ...] = ()
    stdin: bytes = b""
    allow: tuple[Destination, ...] = ()
    secret_files: tuple[SecretFile, ...] = ()
    keep_bytes: int = 0

    @property
    def stream_bytes(self) -> int:
        """How much of a stream is brought; of more, head and tail."""
        return max(self.profile.limits.output_bytes, self.keep_bytes)

    @property
    def working_directory(self) -> str:
        """Where the call starts: the workspace if it has one, else ``/tmp``."""
        return "/workspace" if self.profile.workspace else "/tmp"  # the sandbox's own /tmp


ENGINES: Final = ("docker", "oci")
"""Every engine, best first. Each is the module of its name in this package, with a function ``engine()``."""

AUTO: Final = "auto"
"""The word for the first engine that will do."""


def engine_names() -> tuple[str, ...]:
    """The words that ``--engine`` takes."""
    return (AUTO, *ENGINES)


LimitName: TypeAlias = Literal["timeout", "memory", "cpus", "pids", "output", "tmp", "files", "file_size"]
"""A limit, as a spec calls it."""

LIMITS: Final[tuple[LimitName, ...]] = get_args(LimitName)
"""Every limit, in the order in which they are told."""
