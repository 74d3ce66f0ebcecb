"""Which addresses are somebody's on the public internet, and what the others are.

Ranges are those of the IANA registries of special-purpose addresses (RFC 6890), as of 2026, and the addresses
at which clouds answer a machine's questions about itself. An IPv6 address in which an IPv4 address is embedded
leads wherever a translator on the way takes it, so it is none that a rule about addresses can judge.
"""

from __future__ import annotations

import ipaddress
from typing import Final, TypeAlias

Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address
_Network: TypeAlias = ipaddress.IPv4Network | ipaddress.IPv6Network

LOOPBACK: Final = ("127.0.0.1", "::1")
"""Where ``localhost`` is looked for, in this order."""

METADATA: Final = frozenset(
    {
        "100.100.100.200", "168.63.129.16", "169.254.169.254", "169.254.170.2", "169.254.170.23", "192.0.0.192",
        "fd00:ec2::23", "fd00:ec2::254", "fd20:ce::254", "fe80::a9fe:a9fe",
    }
)  # fmt: skip
"""Alibaba; Azure's agent, which has a public address; AWS and others; ECS; EKS; Oracle; AWS and Google again."""

_RANGES: Final = (
    ("0.0.0.0/8", "no address of any machine"),
    ("10.0.0.0/8", "an address of a private network"),
    ("100.64.0.0/10", "an address inside a provider's network"),
    ("127.0.0.0/8", "the machine that toolc runs on"),
    ("169.254.0.0/16", "an address of the local link"),
    ("172.16.0.0/12", "an address of a private network"),
    ("192.0.0.0/24", "reserved for protocols"),
    ("192.0.2.0/24", "an address for documentation"),
    ("192.88.99.0/24", "a relay to IPv6"),
    ("192.168.0.0/16", "an address of a private network"),
    ("198.18.0.0/15", "an address for benchmarks"),
    ("198.51.100.0/24", "an address for documentation"),
    ("203.0.113.0/24", "an address for documentation"),
    ("224.0.0.0/4", "a multicast address"),
    ("255.255.255.255/32", "the broadcast address"),
    ("240.0.0.0/4", "a reserved address"),
    ("::/128", "no address of any machine"),
    ("::1/128", "the machine that toolc runs on"),
    ("::ffff:0:0/96", "an IPv4 address in IPv6 clothes"),
    ("::ffff:0:0:0/96", "an IPv4 address in IPv6 clothes"),
    ("::/96", "an IPv4 address in IPv6 clothes"),
    ("64:ff9b::/96", "an IPv4 address behind a translator (NAT64)"),
    ("64:ff9b:1::/48", "an IPv4 address behind a translator (NAT64)"),
    ("100::/64", "an address where everything is discarded"),
    ("2001::/32", "a Teredo tunnel to an IPv4 address"),
    ("2001:db8::/32", "an address for documentation"),
    ("2001::/23", "reserved for protocols"),
    ("2002::/16", "a 6to4 tunnel to an IPv4 address"),
    ("3fff::/20", "an address for documentation"),
    ("fc00::/7", "an address of a private network"),
    ("fe80::/10", "an address of the local link"),
    ("fec0::/10", "an address of a private site"),
    ("ff00::/8", "a multicast address"),
)
"""Every range that is no part of the public internet, the narrower before the wider, and what it is."""

_SPECIAL: Final[tuple[tuple[_Network, str], ...]] = tuple(
    (ipaddress.ip_network(text), words) for text, words in _RANGES
)
_GLOBAL_UNICAST: Final = ipaddress.IPv6Network("2000::/3")
_ISATAP: Final = 0x5EFE
_ISATAP_BITS: Final = 0xFDFFFFFF
"""Of the upper half of an interface's identifier; one bit says whether the IPv4 address in the lower is public."""


def why_not_public(address: Address) -> str | None:
    """What this address is, in words that follow "is", where it is not one of the public internet; else None."""
    if str(address).partition("%")[0] in METADATA:
        return "where a cloud hands out the credentials of the machine that toolc runs on"
    for network, words in _SPECIAL:
        if address.version == network.version and address in network:
            return words
    if isinstance(address, ipaddress.IPv6Address):
        if address not in _GLOBAL_UNICAST:
            return "a reserved address"
        if (int(address) >> 32) & _ISATAP_BITS == _ISATAP:
            return "an ISATAP tunnel to an IPv4 address"
    # Whatever else Python's own tables say, which are older or newer than ours.
    return None if address.is_global else "a reserved address"
