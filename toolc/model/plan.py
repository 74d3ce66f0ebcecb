"""The plan of one call, with everything that any engine needs to run it."""

import ipaddress
from collections.abc import Iterator, Sequence
from typing import ClassVar, Final, Literal, TypeAlias, get_args

from toolc.dataclass import dataclass, field
from toolc.model.destinations import is_loopback
from toolc.model.http_plan import HttpCall
from toolc.model.json_schema import JsonObject
from toolc.model.spec.code_backends import File
from toolc.model.spec.sandbox import Build, Destination, EnvVar, Limits, MinIsolation, SecretSpec

LOCALHOST: Final = "localhost"
"""The only name that is not looked up. It always means the machine on which toolc runs (RFC 6761, 6.3)."""

PROXY_PORT: Final = 3128
"""The port of the sandbox's proxy. It is the usual port of HTTP proxies, so servers in a sandbox rarely use it."""

NO_LIMIT: Final = 1 << 62
"""The growth limit, in bytes, of a workspace without a limit. No workspace can contain that much."""

LimitName: TypeAlias = Literal["timeout", "memory", "cpus", "pids", "output", "tmp", "files", "file_size", "workspace"]
"""The name of a limit in a spec."""

LIMITS: Final[tuple[LimitName, ...]] = get_args(LimitName)
"""All limits, in the order in which they are displayed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PortForward:
    """A listener. Connections to its address are forwarded to the same port of ``host``."""

    address: str
    port: int
    host: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopbackProxy:
    """The listeners of a sandbox. ``hosts`` are addresses and names for ``/etc/hosts``.

    ``proxy`` is the address of the HTTP proxy, at ``PROXY_PORT``. Programs connect to ``direct`` hosts without it.
    """

    hosts: tuple[tuple[str, str], ...] = ()
    forwards: tuple[PortForward, ...] = ()
    proxy: str | None = None
    direct: tuple[str, ...] = ()


def loopback_proxy(allow: Sequence[Destination]) -> LoopbackProxy:
    """Return the listeners for an allow-list. The order of its entries does not matter."""
    if not allow:
        return LoopbackProxy()
    exact = sorted({(each.host, each.port) for each in allow if each.kind == "exact"})
    literals = {host for host, _ in exact if host != LOCALHOST and is_loopback(host)}
    free = _addresses(literals)
    names = {host: next(free) for host in dict.fromkeys(host for host, _ in exact if _is_name(host))}
    # An address that is listed explicitly has priority, and its listener also serves localhost.
    listened = {("127.0.0.1", port): LOCALHOST for host, port in exact if host == LOCALHOST}
    listened |= {(names.get(host, host), port): host for host, port in exact if host in names or host in literals}
    above = [f".{each.host}" for each in allow if each.kind == "wildcard"]
    # Programs apply a name in no_proxy to its subdomains too, which a wildcard entry may allow through the proxy.
    alone = [
        name for name in names if not any(f".{name}".endswith(each) or each.endswith(f".{name}") for each in above)
    ]
    is_public = any(each.kind == "public" for each in allow)
    return LoopbackProxy(
        # The name with the dot of the root is needed as well, because hosts(5) compares names literally.
        hosts=tuple((address, each) for name, address in names.items() for each in (name, f"{name}.")),
        forwards=tuple(
            PortForward(address=address, port=port, host=host) for (address, port), host in sorted(listened.items())
        ),
        proxy=next(free),
        direct=tuple(sorted({LOCALHOST, "127.0.0.1", "::1", *literals, *([] if is_public else alone)})),
    )


def proxy_environment(loopback: LoopbackProxy) -> tuple[EnvVar, ...]:
    """Return the environment variables that make programs use the proxy, in upper and lower case.

    There is no standard for these variables. curl reads ``http_proxy`` only in lower case, and many programs read both.
    Node supports the variables since 22.21, if ``NODE_USE_ENV_PROXY`` is set. Without a proxy, the result is empty.
    """
    if loopback.proxy is None:
        return ()
    values = dict.fromkeys(("http_proxy", "https_proxy", "all_proxy"), f"http://{loopback.proxy}:{PROXY_PORT}")
    values["no_proxy"] = ",".join(loopback.direct)
    both = values | {name.upper(): value for name, value in values.items()} | {"NODE_USE_ENV_PROXY": "1"}
    return tuple(EnvVar(name=name, value=value) for name, value in sorted(both.items()))


@dataclass(frozen=True, slots=True, kw_only=True)
class Mount:
    """The workspace: a validated, absolute folder of the host that is mounted at ``/workspace``.

    ``owner`` and ``group`` are the uid and gid of the folder on the host. ``device`` and ``inode`` identify it (both 0
    if not checked). In the mode ``overlay``, the folder is the read-only layer below the files that the call writes.
    ``scratch`` is a private folder for the call's view. In it, the engine creates ``upper`` and ``work`` for an
    overlay, or a copy. While this process runs, the path ``pinned`` refers to this folder even if it is replaced.
    ``changed_ns`` is the modification time of the folder when it was validated.

    Without a ``source``, the sandbox is prepared for a folder that is mounted later. Only its mode, owner and group
    are known.
    """

    source: str
    mode: Literal["ro", "rw", "overlay"]
    owner: int
    group: int
    device: int = 0
    inode: int = 0
    scratch: str = ""
    pinned: str = ""
    changed_ns: int = field(default=0, compare=False)

    def without_source(self) -> "Mount":
        """Return the workspace of a sandbox in which this one can be mounted later."""
        return Mount(source="", mode=self.mode, owner=self.owner, group=self.group)


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """The properties that are fixed when a sandbox is created. Calls may share a sandbox only if these are equal.

    ``accept_unenforced`` names the limits that, by the user's own configuration, need not be enforced. ``loopback``
    has the addresses to which programs in the sandbox can connect. Without an ``image`` or ``build``, the sandbox has
    the base image, which is the user's ``base_image`` or toolc's own. With ``host_programs``, which only the user can
    choose, it has the host's programs instead, on engines that support this. With ``has_fork_server``, process 1
    creates an isolated process for each of several calls.
    """

    image: str | None = None
    base_image: str | None = None
    host_programs: bool = False
    workspace: Mount | None = None
    limits: Limits = field(default_factory=Limits)
    min_isolation: MinIsolation = "namespace"
    nonroot: bool = False
    build: Build | None = None
    requirements: tuple[str, ...] = ()
    accept_unenforced: tuple[str, ...] = ()
    loopback: LoopbackProxy = field(default_factory=LoopbackProxy)
    has_fork_server: bool = False

    @property
    def hosts(self) -> tuple[tuple[str, str], ...]:
        """Additional addresses and names for ``/etc/hosts`` in the sandbox."""
        return self.loopback.hosts


@dataclass(frozen=True, slots=True, kw_only=True)
class Exec:
    """Run a program. ``files``, such as a script, are first written below ``/tool``.

    With ``progress``, lines such as ``::progress 40 text`` on stderr report progress and are not output.
    """

    tag: ClassVar[str] = "exec"
    argv: tuple[str, ...]
    files: tuple[File, ...] = ()
    progress: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PythonCall:
    """Call ``function`` of the module at ``entry`` (a path in ``files``) with ``arguments`` as keywords."""

    tag: ClassVar[str] = "python"
    entry: str
    function: str
    arguments: JsonObject
    files: tuple[File, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginCall:
    """Pass a call to the process ``argv``, which serves many calls, if it declares the tool as reviewed.

    ``tool`` is the name of the tool in that process. ``description`` and ``parameters`` are those that were reviewed.
    """

    tag: ClassVar[str] = "plugin"
    argv: tuple[str, ...]
    tool: str
    description: str
    parameters: JsonObject
    arguments: JsonObject
    files: tuple[File, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class McpCall:
    """Call ``tool`` of an MCP server, which serves many calls, if it defines the tool as ``definition``.

    The server is the program ``argv`` in a sandbox, or at the URL of ``endpoint``, whose headers each request has.
    ``secrets`` fill its slots.
    """

    tag: ClassVar[str] = "mcp"
    server: str
    argv: tuple[str, ...]
    tool: str
    definition: JsonObject
    arguments: JsonObject
    files: tuple[File, ...] = ()
    endpoint: HttpCall | None = None
    secrets: tuple[tuple[SecretSpec, str], ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Programs:
    """Run programs that the host requests later, several at the same time. ``files`` are first written below ``/tool``.

    Used by ``toolc.Sandbox``.
    """

    tag: ClassVar[str] = "programs"
    files: tuple[File, ...] = ()


Invocation: TypeAlias = Exec | PythonCall | HttpCall | PluginCall | McpCall | Programs


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretFile:
    """A secret that the tool reads from a file. ``path`` is below ``/tool``, and only the tool can read it."""

    path: str
    text: str = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """One call, with the sandbox that it needs and the program or function to run in it.

    ``env`` is the complete environment of the tool. ``stdin`` is empty if the tool does not read any. ``allow`` has the
    destinations to which the call may connect. ``keep_bytes`` is the number of bytes of each output stream to return
    for later reading, if it is more than the output limit. With ``has_raw_text``, output streams keep the control
    sequences of terminals. The call is stopped if its workspace grows by more than ``growth_bytes``.
    """

    profile: Profile
    invocation: Invocation
    call_id: str
    env: tuple[EnvVar, ...] = ()
    stdin: bytes = b""
    allow: tuple[Destination, ...] = ()
    secret_files: tuple[SecretFile, ...] = ()
    keep_bytes: int = 0
    has_raw_text: bool = False
    growth_bytes: int = NO_LIMIT

    @property
    def stream_bytes(self) -> int:
        """The maximum number of bytes returned per stream. Longer streams are cut in the middle."""
        return max(self.profile.limits.output_bytes, self.keep_bytes)

    @property
    def working_directory(self) -> str:
        """The directory in which the call starts: the workspace if it has one, otherwise ``/tmp``."""
        return "/workspace" if self.profile.workspace else "/tmp"  # the /tmp of the sandbox


def _is_name(host: str) -> bool:
    if host == LOCALHOST:
        return False
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return True
    return False


def _addresses(taken: set[str]) -> Iterator[str]:
    """Yield loopback addresses that are not in ``taken``, starting with 127.0.1.1."""
    first = int(ipaddress.IPv4Address("127.0.1.1"))
    for number in range(first, first + (1 << 16)):
        address = str(ipaddress.IPv4Address(number))
        if address not in taken:
            yield address
