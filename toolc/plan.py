"""What one call asks of an engine: pure data, in no engine's words."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal, TypeAlias

from toolc.loopback import Loopback
from toolc.plan_http import HttpCall
from toolc.schema import JsonObject
from toolc.spec import Build, Destination, EnvVar, File, Limits, MinIsolation


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
    loopback: Loopback = field(default_factory=Loopback)

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
