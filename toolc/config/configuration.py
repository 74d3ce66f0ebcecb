"""The settings in a user's configuration, and their defaults."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final, Literal, TypeAlias, get_args

from toolc.config.secret_sources import SecretSource
from toolc.dataclass import dataclass, field
from toolc.model.names import AUTO
from toolc.model.spec.sandbox import MIB

MAX_WARM: Final = 1000
"""The maximum number of sandboxes per tool in ``warm``.

More is probably a typing mistake, because the limits of the pool are lower.
"""

MAX_QUOTA: Final = 1_000_000
"""The maximum of each number in the settings of a client."""

AUDIT_FILE_BYTES: Final = 64 * MIB
"""The default of ``audit.max_file``. A file of this size has about 100,000 lines."""

WORKSPACE_GROWTH_BYTES: Final = 2048 * MIB
"""The default of ``workspace_growth``. Most builds write less, and most disks have more free space."""


Role: TypeAlias = Literal["caller", "reviewer", "metrics"]

ROLES: Final[tuple[Role, ...]] = get_args(Role)
"""What a client may do: make calls, also answer the confirmations of others, or only read metrics."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """The rights of a JWT scope: a role, and the tools with one of ``tags`` (None: all)."""

    role: Role = "caller"
    tags: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Issuer:
    """An issuer whose JWTs a server accepts. ``jwks`` is the URL of its keys.

    ``audience`` is the required audience of tokens if it is not the URL of the server. ``addresses`` are the non-public
    addresses that the host of ``jwks`` may have. Without ``scopes``, every scope allows all tools.
    """

    url: str
    jwks: str
    audience: str | None = None
    addresses: tuple[str, ...] = ()
    scopes: Mapping[str, Scope] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientSettings:
    """The restrictions of a client of a server. None and an empty tuple mean no restriction.

    The client may use tools with one of ``tags``, except tools with a name or tag in ``deny``. ``rate`` is the number
    of requests per minute. ``sandboxes`` counts running calls and idle sessions. ``subject`` and ``issuer`` identify
    the JWTs of the client.
    """

    workspace: Path | None = None
    secrets: Mapping[str, SecretSource] = field(default_factory=dict)
    tags: tuple[str, ...] | None = None
    deny: tuple[str, ...] = ()
    rate: int | None = None
    concurrent: int | None = None
    sandboxes: int | None = None
    subject: str | None = None
    issuer: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditSettings:
    """How calls are recorded. ``folder`` is the folder of the log, by default in the user's state folder.

    ``arguments`` is the form in which a line has the arguments. ``when_full`` says whether a call runs if its line
    cannot be written.
    """

    folder: Path | None = None
    arguments: Literal["hmac", "shape"] = "hmac"
    when_full: Literal["refuse", "run"] = "refuse"
    max_file_bytes: int = AUDIT_FILE_BYTES


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """A user's settings for all calls.

    ``accept_unenforced`` names the limits that need not be enforced if the host cannot enforce them.
    ``workspace_growth_bytes`` is how much a call may add to its workspace before it is stopped. ``secrets`` maps the
    name of a secret to the source of its value. ``base_image`` is the image for tools that name none, instead of
    toolc's own. With ``host_programs``, such tools run with the host's own programs on an engine without a daemon.
    ``warm`` maps the name of a tool to the number of its sandboxes that are started when an executor opens, and kept.
    With 0, no sandbox of the tool is ever started ahead. ``clients`` has the settings of a server's clients, by the
    name of the token. ``default`` applies to all other clients. ``issuers`` has the issuers of JWTs that a server
    accepts, by URL. ``audit`` is None if calls are not recorded.
    """

    engine: str = AUTO
    accept_unenforced: tuple[str, ...] = ()
    workspace_growth_bytes: int = WORKSPACE_GROWTH_BYTES
    secrets: Mapping[str, SecretSource] = field(default_factory=dict)
    base_image: str | None = None
    host_programs: bool = False
    warm: Mapping[str, int] = field(default_factory=dict)
    clients: Mapping[str, ClientSettings] = field(default_factory=dict)
    audit: AuditSettings | None = None
    issuers: Mapping[str, Issuer] = field(default_factory=dict)
