"""The address of a server, and the hosts and origins that its requests may name."""

from __future__ import annotations

import ipaddress
import re
import socket
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, Literal, TypeAlias
from urllib.parse import urlsplit

from toolc.config.configuration import Issuer
from toolc.dataclass import dataclass, field
from toolc.model.errors import UsageError

LOOPBACK_NAMES: Final = ("127.0.0.1", "localhost", "[::1]")
"""The names by which programs of this machine reach a server on a loopback address, as in a Host header."""

METADATA: Final = "/.well-known/oauth-protected-resource"
"""The path below which the metadata for clients of issuers is."""

OAUTH: Final = (METADATA, "/.well-known/oauth-authorization-server", "/register")
"""The paths that clients without a token request to learn where to get one."""

ConfirmMode: TypeAlias = Literal["client", "api", "refuse"]
"""Who confirms calls of tools with ``confirm: true``: the client's user, a reviewer over ``/api/v1``, or no one."""

_HOST: Final = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::([0-9]{1,5}))?")


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpSettings:
    """The settings of a server. ``hosts`` are its further names, such as ``tools.example.com`` or ``[::1]:8443``.

    ``config`` is a configuration file to use instead of the user's. ``metrics_address`` is a separate address for
    metrics. ``certificate`` and ``key`` are files for TLS. ``base_path`` is the path under which a proxy publishes the
    server, and ``proxies`` are the addresses whose ``X-Forwarded-*`` headers are trusted. ``issuers`` are those at the
    start, whose JWTs are accepted.
    """

    host: str
    port: int
    hosts: tuple[str, ...] = ()
    certificate: str | None = None
    key: str | None = None
    base_path: str = ""
    proxies: tuple[str, ...] = ()
    requires_token: bool = False
    confirm: ConfirmMode = "client"
    config: Path | None = None
    metrics_address: str | None = None
    drain_seconds: float = 30.0
    issuers: Mapping[str, Issuer] = field(default_factory=dict)

    @property
    def url(self) -> str:
        """The address of the server, for a client."""
        name = self.hosts[0] if self.hosts else f"{_bracketed(self.host)}:{self.port}"
        return f"{'https' if self.is_https else 'http'}://{name}{self.base_path}"

    @property
    def is_https(self) -> bool:
        """Whether clients use TLS to connect to the server or its proxy."""
        return bool(self.certificate or self.proxies)

    @property
    def cookie(self) -> str:
        """The name of the session cookie. It contains the port, because all ports of a host share cookies."""
        return f"{'__Host-' if self.is_https else ''}toolc-{self.port}"

    def accepts_host(self, header: str) -> bool:
        """Return whether a request may name this host. Without a port, it names the default port."""
        match = _HOST.fullmatch(header)
        if match is None:
            return False
        name, port = match[1].lower(), match[2] or ("443" if self.certificate else "80")
        own = {_bracketed(self.host).lower(), *LOOPBACK_NAMES}
        if name in own and port == str(self.port):
            return True
        return name in self.hosts or header.lower() in self.hosts

    def accepts_origin(self, origin: str) -> bool:
        """Return whether pages of this origin may send requests, which only the server's own origins may."""
        parts = urlsplit(origin)
        is_origin = parts.scheme in {"http", "https"} and origin == f"{parts.scheme}://{parts.netloc}"
        return is_origin and self.accepts_host(parts.netloc)

    @property
    def resource(self) -> str:
        """The URL of the server as an OAuth resource, which is the default audience of tokens."""
        return f"{self.url}/mcp"

    @property
    def metadata_url(self) -> str:
        """The URL of the metadata that lists the issuers (RFC 9728, 3.1). Empty without issuers."""
        parts = urlsplit(self.resource)
        return f"{parts.scheme}://{parts.netloc}{METADATA}{parts.path}" if self.issuers else ""

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can connect."""
        return is_loopback(self.host)


def parse_settings(address: str, hosts: Sequence[str] = ()) -> HttpSettings:
    """Return the settings for the address ``HOST:PORT`` and further host names. Raises ``UsageError``."""
    match = _HOST.fullmatch(address)
    if match is None or match[2] is None or int(match[2]) > 65535:
        raise UsageError(f"--http {address!r:.80} is not HOST:PORT; write e.g. 127.0.0.1:8000 or [::1]:8000")
    for each in hosts:
        if not _HOST.fullmatch(each):
            raise UsageError(
                f"--allowed-host {each!r:.80} is not a host; write e.g. tools.example.com, without https://"
            )
    return HttpSettings(host=match[1].strip("[]"), port=int(match[2]), hosts=tuple(each.lower() for each in hosts))


def is_loopback(host: str) -> bool:
    """Return whether every address of ``host`` is a loopback address. Raises ``UsageError`` if it does not resolve."""
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except OSError as error:
        raise UsageError(f"--http: the host {host!r:.80} has no address: {error.strerror}") from None
    return all(ipaddress.ip_address(each[4][0]).is_loopback for each in found)


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host
