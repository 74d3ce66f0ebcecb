"""Decide whether a call may connect to a host, with pure functions of the allow-list and the request.

There are two steps, because a name does not determine its addresses. ``decide`` finds the entry that allows a host and
port. ``admit`` selects the addresses that may be used. An address outside the public internet is allowed only if an
entry names the address itself, no matter which name resolved to it.
"""

import ipaddress
from collections.abc import Sequence
from typing import Final, TypeAlias

from toolc.dataclass import dataclass
from toolc.model.destinations import (
    METADATA_ADDRESSES,
    HostError,
    canonical_host,
    format_destination,
    format_host,
    is_loopback,
)
from toolc.model.plan import LOCALHOST
from toolc.model.spec.sandbox import Destination

Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address
_Network: TypeAlias = ipaddress.IPv4Network | ipaddress.IPv6Network

LOOPBACK: Final = ("127.0.0.1", "::1")
"""The addresses of ``localhost``, in order."""

_RANGES: Final = {
    "not an address of any machine": "0.0.0.0/8 ::/128",
    "the machine that toolc runs on": "127.0.0.0/8 ::1/128",
    "an address of a private network": "10.0.0.0/8 172.16.0.0/12 192.168.0.0/16 fc00::/7",
    "an address inside a provider's network": "100.64.0.0/10",
    "an address of the local link": "169.254.0.0/16 fe80::/10",
    "an address of a private site": "fec0::/10",
    "a multicast address": "224.0.0.0/4 ff00::/8",
    "the broadcast address": "255.255.255.255/32",
    "an address for documentation": "192.0.2.0/24 198.51.100.0/24 203.0.113.0/24 2001:db8::/32 3fff::/20",
    "an address for benchmarks": "198.18.0.0/15",
    "an address that discards everything": "100::/64",
    "reserved for protocols": "192.0.0.0/24 2001::/23",
    "a reserved address": "240.0.0.0/4",
    "a relay to IPv6": "192.88.99.0/24",
    "an IPv4 address embedded in IPv6": "::ffff:0:0/96 ::ffff:0:0:0/96 ::/96",
    "an IPv4 address behind a translator (NAT64)": "64:ff9b::/96 64:ff9b:1::/48",
    "a Teredo tunnel to an IPv4 address": "2001::/32",
    "a 6to4 tunnel to an IPv4 address": "2002::/16",
}
"""All ranges outside the public internet, by description."""

_SPECIAL: Final[list[tuple[_Network, str]]] = sorted(
    ((ipaddress.ip_network(text), name) for name, ranges in _RANGES.items() for text in ranges.split()),
    key=lambda each: -each[0].prefixlen,
)
"""Narrower ranges come first."""

_GLOBAL_UNICAST: Final = ipaddress.IPv6Network("2000::/3")
_ISATAP: Final = 0x5EFE
_ISATAP_BITS: Final = 0xFDFFFFFF
"""A mask for the upper half of an interface identifier, without the bit that says if its IPv4 address is public."""


def why_not_public(address: Address) -> str | None:
    """Describe a non-public address, in words that can follow "is". None for a public address."""
    if str(address).partition("%")[0] in METADATA_ADDRESSES:
        return "the metadata service of a cloud, which returns the credentials of this machine"
    for network, description in _SPECIAL:
        if address.version == network.version and address in network:
            return description
    if isinstance(address, ipaddress.IPv6Address):
        if address not in _GLOBAL_UNICAST:
            return "a reserved address"
        if (int(address) >> 32) & _ISATAP_BITS == _ISATAP:
            return "an ISATAP tunnel to an IPv4 address"
    # Python's own tables may be older or newer than these.
    return None if address.is_global else "a reserved address"


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """A decision about a host and port: the ``entry`` that allows them, or the ``reason`` why none does.

    ``remedy`` is the missing entry, as written in a spec. ``host`` is canonical, or truncated if it is not a valid
    host.
    """

    host: str
    port: int
    entry: Destination | None = None
    reason: str = ""
    remedy: str = ""

    @property
    def is_literal(self) -> bool:
        """Whether the host is an IP address."""
        return _address(self.host) is not None

    @property
    def is_local(self) -> bool:
        """Whether the host needs no lookup, because it is an address or ``localhost``."""
        return self.is_literal or self.host == LOCALHOST


@dataclass(frozen=True, slots=True, kw_only=True)
class Admission:
    """The addresses to try, in order. If there are none, the reason, and the entry that would admit one."""

    addresses: tuple[str, ...] = ()
    reason: str = ""
    remedy: str = ""


def decide(allow: Sequence[Destination], host: str, port: int) -> Decision:
    """Return the decision of ``allow`` for a host, in any spelling, and a port. An empty list allows nothing."""
    try:
        name = canonical_host(host)
    except HostError as error:
        return Decision(host=_printable(host), port=port, reason=str(error))
    if not 0 < port < 65536:
        return Decision(host=name, port=port, reason=f"{port} is not a port")
    entries = [each for each in allow if _covers(each, name, port)]
    entry = next((each for each in entries if each.any_host), entries[0] if entries else None)
    if entry is not None:
        return Decision(host=name, port=port, entry=entry)
    remedy = format_destination(Destination(kind="exact", host=name, port=port))
    return Decision(host=name, port=port, reason=f"no entry of network.allow covers {remedy}", remedy=remedy)


def admit(decision: Decision, allow: Sequence[Destination], addresses: Sequence[str]) -> Admission:
    """Return which of the ``addresses`` of an allowed host may be used."""
    admitted, reason, remedy = [], "", ""
    for text in addresses:
        address = _address(text)
        if address is None:
            continue
        obstacle = why_not_public(address)
        if decision.host == LOCALHOST:
            # The name always means this machine, whatever a resolver returns.
            obstacle = None if address.is_loopback else "not the machine that toolc runs on"
        if obstacle is None or _is_named(decision, allow, str(address)):
            admitted.append(str(address))
        elif not reason:
            remedy = f"{format_host(str(address))}:{decision.port}"
            subject = "" if decision.is_literal else f"{decision.host} resolves to "
            reason = f"{subject}{address}, which is {obstacle}; only an entry {remedy} would allow that"
    if admitted:
        return Admission(addresses=tuple(dict.fromkeys(admitted)))
    return Admission(reason=reason or f"{decision.host} has no address", remedy=remedy)


def is_same_site(decision: Decision, host: str, port: int) -> bool:
    """Return whether a request on an allowed connection may name this host, in canonical form, and port.

    The same entry must allow that host. Another entry of the list is not enough. All names of this machine are equal.
    """
    if decision.entry is None or port != decision.port:
        return False
    is_same = host == decision.host or (is_loopback(host) and is_loopback(decision.host))
    return is_same or _covers(decision.entry, host, port)


def _covers(entry: Destination, host: str, port: int) -> bool:
    if entry.port != port:
        return False
    match entry.kind:
        case "exact":
            return entry.host == host
        case "wildcard":
            return _address(host) is None and host.endswith(f".{entry.host}")
        case "public":
            # A name without a dot is resolved among the machine's local names.
            return _address(host) is not None or "." in host


def _is_named(decision: Decision, allow: Sequence[Destination], address: str) -> bool:
    return any(each.kind == "exact" and each.host == address and each.port == decision.port for each in allow)


def _address(text: str) -> Address | None:
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None


def _printable(host: str) -> str:
    """Return an invalid host in a form that is safe to display, because it comes from the tool."""
    return ascii(host[:80])[1:-1]
