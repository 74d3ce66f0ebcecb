"""A URL as the host reads it, strictly: what two programs could read in two ways is refused."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote

from toolc.model.destinations import HostError, canonical_host, is_loopback, show_host
from toolc.runtime.egress_transport import RefusedError

MAX_URL: Final = 8192
"""The longest URL that is sent, in characters."""

PORTS: Final = {"http": 80, "https": 443}

_URL: Final = re.compile(
    r"(?P<scheme>https?)://(?P<authority>[^/?#\\]*)(?P<rest>[/?][^#]*)?(?:#.*)?", re.ASCII | re.IGNORECASE
)
_AUTHORITY: Final = re.compile(r"(?P<host>\[[^\]]*\]|[^:\[\]]*)(?::(?P<port>[0-9]{0,5}))?")
_UNSAFE: Final = re.compile(r"[\x00-\x20\x7f\\]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Where a request goes: ``origin`` in canonical form, and path and query as they stand in the request line."""

    scheme: str
    host: str
    port: int
    path: str

    @property
    def origin(self) -> tuple[str, str, int]:
        """What two URLs must share for a secret of one to go to the other."""
        return (self.scheme, self.host, self.port)

    @property
    def authority(self) -> str:
        """The value of the header ``Host``."""
        host = show_host(self.host)
        return host if self.port == PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def is_private(self) -> bool:
        """Whether nobody on the way can read what is sent: TLS, or this machine itself."""
        return self.scheme == "https" or is_loopback(self.host)


def parse_url(text: str) -> Target:
    """The target of an ``http`` or ``https`` URL. Raises ``RefusedError`` that says what is wrong."""
    shown = ascii(text[:100])
    match = _URL.fullmatch(text)
    if match is None:
        raise RefusedError(f"{shown} is no URL of http or https")
    rest = match["rest"] or "/"
    if len(text) > MAX_URL:
        raise RefusedError(f"a URL of {len(text)} characters is longer than the {MAX_URL} that are sent")
    if _UNSAFE.search(text):
        raise RefusedError(
            f"{shown} has spaces, control characters or a backslash in it, which programs read differently"
        )
    if "@" in match["authority"]:
        raise RefusedError(
            f"the URL {match['authority'].rpartition('@')[2][:80]!a} has a user name before its host"
        )
    found = _AUTHORITY.fullmatch(match["authority"])
    scheme = match["scheme"].lower()
    port = int(found["port"] or PORTS[scheme]) if found else 0
    if found is None or not 0 < port < 65536:
        raise RefusedError(f"{shown} has no port from 1 to 65535")
    try:
        host = canonical_host(found["host"])
    except HostError as error:
        raise RefusedError(f"the URL's host: {error}") from None
    path = quote(rest if rest.startswith("/") else f"/{rest}", safe="/%:@!$&'()*+,;=-._~?[]|{}\"^`<>")
    return Target(scheme=scheme, host=host, port=port, path=path)
