"""What a sandbox listens on for an allow-list: the way from a program in it to the broker.

Each name that an allow-list spells out gets a loopback address of its own, which the sandbox's ``/etc/hosts``
gives to whoever asks; loopback addresses are listened on as they stand. What cannot be listed (wildcards, any
public address) or has an address of its own elsewhere goes through an HTTP proxy. So does what no entry allows:
a program that asks for it hears why not.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from toolc.hosts import is_loopback
from toolc.spec import Destination, EnvVar

LOCALHOST: Final = "localhost"
"""The one name that is not looked up: it always means the machine that toolc runs on (RFC 6761, 6.3)."""

PROXY_PORT: Final = 3128


@dataclass(frozen=True, slots=True, kw_only=True)
class Forward:
    """A listener: what connects to this address is brought to ``host``, at the same port."""

    address: str
    port: int
    host: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Loopback:
    """The listeners of a sandbox. ``hosts`` are addresses and names for ``/etc/hosts``.

    ``proxy`` is the address of the HTTP proxy, at ``PROXY_PORT``; ``direct`` are the hosts that programs reach
    without it.
    """

    hosts: tuple[tuple[str, str], ...] = ()
    forwards: tuple[Forward, ...] = ()
    proxy: str | None = None
    direct: tuple[str, ...] = ()


def loopback(allow: Sequence[Destination]) -> Loopback:
    """The listeners for an allow-list: the same for the same entries, whatever their order."""
    if not allow:
        return Loopback()
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
    return Loopback(
        # With the root's dot too: hosts(5) knows a name by its letters.
        hosts=tuple((address, each) for name, address in names.items() for each in (name, f"{name}.")),
        forwards=tuple(
            Forward(address=address, port=port, host=host) for (address, port), host in sorted(listened.items())
        ),
        proxy=next(free),
        direct=tuple(sorted({LOCALHOST, "127.0.0.1", "::1", *literals, *([] if is_public else alone)})),
    )


def proxy_environment(found: Loopback) -> tuple[EnvVar, ...]:
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
