"""Parse host names and destinations into the canonical form that the network broker compares.

The canonical form is lower case, without a dot at the end, in ASCII (``xn--…`` for other letters), with IP
addresses as in RFC 5952. Text that two programs could interpret differently is rejected, such as user names, ``%``,
NUL, ``127.1`` and ``0x7f.0.0.1``.
"""

import ipaddress
import re
from typing import Final

from toolc.model.spec.sandbox import Destination
from toolc.model.text import lazy_re

PUBLIC: Final = "public:443"
"""The entry of an allow-list that means any public address."""

METADATA_ADDRESSES: Final = frozenset(
    {
        "100.100.100.200", "168.63.129.16", "169.254.169.254", "169.254.170.2", "169.254.170.23", "192.0.0.192",
        "fd00:ec2::23", "fd00:ec2::254", "fd20:ce::254", "fe80::a9fe:a9fe",
    }
)  # fmt: skip
"""The metadata services of Alibaba, Azure's agent (a public address), AWS and others, ECS, EKS and Oracle, and those of
AWS and Google over IPv6.
"""

_MAX_TEXT: Final = 255
"""The maximum number of characters to parse. No host is longer, and parsing longer text could be slow."""

_LABEL: Final = lazy_re(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
_NUMBER: Final = lazy_re(r"[0-9]+|0x[0-9a-f]*")
_DESTINATION: Final = lazy_re(r"(?P<host>\[[^\]]*\]|[^:\[\]]*):(?P<port>[0-9]{1,5})")
_SCHEME: Final = lazy_re(r"([A-Za-z][A-Za-z0-9+.-]*)://([^/?#]*)")
_PORTS: Final = {"https": 443, "http": 80, "ssh": 22, "postgres": 5432, "postgresql": 5432, "mysql": 3306}


class HostError(ValueError):
    """Raised for a text that is not a valid host. ``hint`` says what to write instead."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


def canonical_host(text: str) -> str:
    """Return a host name or IP address in canonical form, IPv6 without brackets. Raises ``HostError``."""
    if text.startswith("[") and text.endswith("]"):
        return _ipv6(text[1:-1])
    if any(character in text for character in "@%\0\\/") or not text.isprintable() or " " in text:
        raise HostError(f"{text[:80]!r} is not a host", "leave out '@', '%', '/', spaces and control characters")
    if len(text) > _MAX_TEXT:
        raise HostError(f"{text[:80]!r} is not a host name", "write e.g. api.example.com")
    if not text.isascii():
        raise HostError(f"{text[:80]!r} is not in ASCII, and letters outside ASCII can look alike", _ascii_hint(text))
    host = text.lower().removesuffix(".")
    labels = host.split(".")
    if _NUMBER.fullmatch(labels[-1]):
        return _ipv4(host)
    if len(host) > 253 or not all(_LABEL.fullmatch(label) for label in labels):
        raise HostError(f"{text[:80]!r} is not a host name", "write e.g. api.example.com")
    return host


def parse_destination(text: str) -> Destination:
    """Parse ``host:port``, ``*.host:port`` or ``public:443``. Raises ``HostError``."""
    if match := _SCHEME.match(text):
        raise HostError(f"{text[:80]!r} is a URL, not a destination", _url_hint(match))
    if text == PUBLIC:
        return Destination(kind="public", host="", port=443)
    match = _DESTINATION.fullmatch(text)
    if match is None:
        raise HostError(f"{text[:80]!r} is not a host and a port", _port_hint(text))
    host, port = match["host"], int(match["port"])
    if host == "*":
        raise HostError(f"{text[:80]!r} would allow any host", _port_hint(host))
    if not 0 < port < 65536:
        raise HostError(f"{port} is not a port", "a port is a number from 1 to 65535")
    if host.lower() == "public":
        raise HostError(f"'public' needs port 443, not {port}", f"write {PUBLIC}, or name the hosts")
    if not host.startswith("*"):
        return Destination(kind="exact", host=canonical_host(host), port=port)
    return Destination(kind="wildcard", host=_wildcard(host), port=port)


def covers(wide: Destination, narrow: Destination) -> bool:
    """Return whether a permission for ``wide`` includes ``narrow``. A public destination includes no names."""
    if narrow.any_host and not wide.any_host:
        return False
    if (wide.kind, wide.host, wide.port) == (narrow.kind, narrow.host, narrow.port):
        return True
    if wide.port != narrow.port or narrow.kind == "public" or not narrow.host:
        return False
    return wide.kind == "wildcard" and narrow.host.endswith(f".{wide.host}")


def is_loopback(host: str) -> bool:
    """Return whether a canonical host is this machine, so that traffic to it does not leave the machine."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def format_destination(each: Destination) -> str:
    """Return a destination as written in a spec."""
    wildcard = "*." if each.kind == "wildcard" else ""
    text = PUBLIC if each.kind == "public" else f"{wildcard}{format_host(each.host)}:{each.port}"
    return f'{{to: "{text}", any_host: true}}' if each.any_host else text


def format_host(host: str) -> str:
    """Return a canonical host as written before a port, with brackets around IPv6."""
    return f"[{host}]" if ":" in host else host


def _wildcard(host: str) -> str:
    rest = host.removeprefix("*.")
    if rest == host or "*" in rest:
        raise HostError(f"{host[:80]!r} is not a wildcard", "a '*' must be the whole first part, as in *.example.com")
    name = canonical_host(rest)
    if "." not in name or _NUMBER.fullmatch(name.rpartition(".")[2]):
        raise HostError(f"{host[:80]!r} would allow too much", "a wildcard has at least two parts, as in *.example.com")
    return name


def _ipv4(host: str) -> str:
    try:
        return str(ipaddress.IPv4Address(host))
    except ValueError:
        message = f"{host[:80]!r} is an IP address that programs read in different ways"
        raise HostError(message, "write four decimal numbers, such as 10.0.0.5") from None


def _ipv6(text: str) -> str:
    shown = f"[{text[:80]}]"
    try:
        address = ipaddress.IPv6Address(text)
    except ValueError:
        raise HostError(f"{shown!r} is not an IPv6 address", "write e.g. [2001:db8::1]") from None
    if address.scope_id is not None:
        raise HostError(f"{shown!r} names a network interface", "leave out '%' and the text after it")
    if address.ipv4_mapped is not None:
        raise HostError(f"{shown!r} is an IPv4 address in IPv6 form", f"write {address.ipv4_mapped}")
    return str(address)


def _ascii_hint(text: str) -> str:
    try:
        written = text.lower().encode("idna")
        # If the encoded name does not decode to the same text, it may belong to someone else. IDNA 2003 encodes
        # faß.example as fass.example.
        if written.decode("idna") == text.lower():
            return f"write {written.decode('ascii')}"
    except UnicodeError:
        pass
    return "write it in ASCII"


def _url_hint(match: re.Match[str]) -> str:
    scheme, rest = match[1].lower(), match[2].rpartition("@")[2]
    if _DESTINATION.fullmatch(rest):
        return f"write {rest}"
    return f"write {rest or 'the host'}:{_PORTS.get(scheme, 'PORT')}"


def _port_hint(text: str) -> str:
    if text in {"*", "**", "any", "all", "public", "internet"} or text.startswith("0.0.0."):
        return "name each host, as in api.example.com:443; public:443 allows every public address"
    if text.count(":") > 1 and not text.startswith("["):
        return "write an IPv6 address in brackets, as in [2001:db8::1]:443"
    if ":" not in text and text:
        return f"write {text[:80]}:443, or another port"
    return "write host:port, such as api.example.com:443"
