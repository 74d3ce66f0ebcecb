"""Whether a call may connect somewhere: pure functions of its allow-list and of what was asked for.

In two steps, for a name says nothing about where it leads: ``decide`` finds the entry that allows a host and a
port, ``admit`` those of its addresses that may be connected to. An address that is not of the public internet
must be named by an entry itself, whatever name led to it.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass

from toolc.model.destinations import HostError, canonical_host, show_destination, show_host
from toolc.model.plan import LOCALHOST
from toolc.model.spec.sandbox import Destination
from toolc.runtime.egress_addresses import why_not_public


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What the allow-list says: the ``entry`` that allows it; or the ``reason``, and the one that would.

    ``remedy`` is that one, as a spec writes it. ``host`` is canonical, or cut to a sensible length where it is no
    host at all.
    """

    host: str
    port: int
    entry: Destination | None = None
    reason: str = ""
    remedy: str = ""

    @property
    def is_literal(self) -> bool:
        """Whether the host is an address, which no certificate names and nobody looks up."""
        return _address(self.host) is not None

    @property
    def is_local(self) -> bool:
        """Whether nobody is asked where the host is: an address, or ``localhost``."""
        return self.is_literal or self.host == LOCALHOST


@dataclass(frozen=True, slots=True, kw_only=True)
class Admission:
    """The addresses to try, in order; where there is none, why, and the entry that would admit one."""

    addresses: tuple[str, ...] = ()
    reason: str = ""
    remedy: str = ""


def decide(allow: Sequence[Destination], host: str, port: int) -> Decision:
    """What ``allow`` says of a host, in whatever spelling, and a port. An empty list allows nothing."""
    try:
        name = canonical_host(host)
    except HostError as error:
        return Decision(host=_shown(host), port=port, reason=str(error))
    if not 0 < port < 65536:
        return Decision(host=name, port=port, reason=f"{port} is no port")
    entry = next((each for each in allow if _covers(each, name, port)), None)
    if entry is not None:
        return Decision(host=name, port=port, entry=entry)
    remedy = show_destination(Destination(kind="exact", host=name, port=port))
    return Decision(host=name, port=port, reason=f"no entry of network.allow covers {remedy}", remedy=remedy)


def admit(decision: Decision, allow: Sequence[Destination], addresses: Sequence[str]) -> Admission:
    """Which of the ``addresses`` of an allowed host may be connected to."""
    admitted, reason, remedy = [], "", ""
    for text in addresses:
        address = _address(text)
        if address is None:
            continue
        what = why_not_public(address)
        if decision.host == LOCALHOST:
            # It always means this machine, whatever anybody answers.
            what = None if address.is_loopback else "not the machine that toolc runs on"
        if what is None or _is_named(decision, allow, str(address)):
            admitted.append(str(address))
        elif not reason:
            remedy = f"{show_host(str(address))}:{decision.port}"
            lead = "" if decision.is_literal else f"{decision.host} leads to "
            reason = f"{lead}{address}, which is {what}; only an entry {remedy} would allow that"
    if admitted:
        return Admission(addresses=tuple(dict.fromkeys(admitted)))
    return Admission(reason=reason or f"{decision.host} has no address", remedy=remedy)


def _covers(entry: Destination, host: str, port: int) -> bool:
    if entry.port != port:
        return False
    match entry.kind:
        case "exact":
            return entry.host == host
        case "wildcard":
            return _address(host) is None and host.endswith(f".{entry.host}")
        case "public":
            # A name of one part is looked up among a machine's own neighbours.
            return _address(host) is not None or "." in host


def _is_named(decision: Decision, allow: Sequence[Destination], address: str) -> bool:
    return any(each.kind == "exact" and each.host == address and each.port == decision.port for each in allow)


def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None


def _shown(host: str) -> str:
    """What is no host, so that it can be shown: it comes from the tool."""
    return ascii(host[:80])[1:-1]
