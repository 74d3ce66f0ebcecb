"""TC504: an entry of an allow-list that a reviewer cannot judge by reading it, or that leads inside.

A wildcard lets in names that do not exist yet; an IP address says nothing about whose it is; and an address
of a cloud's metadata service hands out the machine's own credentials.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from typing import Final

from toolc.compiler import codes
from toolc.compiler.decode_tool import LocatedTool
from toolc.compiler.document import Scalar, Sequence
from toolc.diagnostics import Diagnostic
from toolc.hosts import HostError, parse_destination
from toolc.spec import Destination

NUMBER: Final = "TC504"

NEEDS: Final = frozenset({"sandbox"})

_METADATA: Final = frozenset(
    {
        "100.100.100.200", "169.254.169.254", "169.254.170.2", "192.0.0.192", "fd00:ec2::254", "instance-data",
        "metadata", "metadata.azure.internal", "metadata.google.internal",
    }
)  # fmt: skip
"""Where clouds answer a machine's questions about itself: AWS, Azure, Google, Oracle, Alibaba."""


def check(tool: LocatedTool) -> Iterator[Diagnostic]:
    """Each entry that is a wildcard, an IP address or a metadata service."""
    node = tool.node_at("sandbox", "network", "allow") if tool.spec.sandbox.network.allow else None
    for item in node.items if isinstance(node, Sequence) else ():
        if not isinstance(item, Scalar) or not isinstance(item.value, str):
            continue
        try:
            found = _finding(parse_destination(item.value))
        except HostError:
            continue
        if found:
            yield Diagnostic(codes.WIDE_EGRESS, found[0], item.span, found[1])


def _finding(entry: Destination) -> tuple[str, str] | None:
    """The message and the hint about an entry, None where it is an ordinary host."""
    if entry.kind == "wildcard":
        message = f"'*.{entry.host}' allows every host below {entry.host}, those that do not exist yet too"
        return message, "list the hosts that the tool needs"
    if entry.host in _METADATA:
        message = f"{entry.host} hands out the credentials of the machine that the tool runs on"
        return message, "remove it; what the tool needs to know comes as a parameter or a secret"
    try:
        address = ipaddress.ip_address(entry.host)
    except ValueError:
        return None
    if address.is_loopback:
        return f"{entry.host} is the machine that toolc runs on, and everything that listens there", "name a host"
    if address.is_link_local:
        return f"{entry.host} is an address of the local link, where machines configure themselves", "name a host"
    whose = "of a private network" if address.is_private else "that may be somebody else's tomorrow"
    return f"{entry.host} is an address {whose}", "name the host, whose certificate says who it is"
