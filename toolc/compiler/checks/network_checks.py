"""Checks of network access: TC503 (any address) and TC504 (broad destinations)."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from typing import Final

from toolc.compiler.checks.check_registry import tool_check
from toolc.compiler.located_tool import LocatedTool
from toolc.compiler.project.network import written_entry
from toolc.document.nodes import Sequence
from toolc.model import codes
from toolc.model.destinations import METADATA_ADDRESSES
from toolc.model.diagnostics import Diagnostic
from toolc.model.spec.code_backends import PythonBackend, ShellBackend
from toolc.model.spec.sandbox import Destination

_METADATA_NAMES: Final = frozenset({
    "instance-data", "metadata", "metadata.azure.internal", "metadata.google.internal",
})  # fmt: skip
"""The names of the metadata services of AWS, Azure and Google inside their networks."""


@tool_check("TC504", needs={"sandbox"})
def check_broad_destinations(tool: LocatedTool) -> Iterator[Diagnostic]:
    """Report each destination that is a wildcard, an IP address or a metadata service.

    A wildcard allows names that do not exist yet, and an IP address does not identify its owner. The metadata service
    of a cloud returns the credentials of the machine.
    """
    node = tool.node_at("sandbox", "network", "allow") if tool.spec.sandbox.network.allow else None
    for item in node.items if isinstance(node, Sequence) else ():
        entry = written_entry(item)
        finding = _finding(entry) if entry else None
        if finding:
            yield Diagnostic(codes.WIDE_EGRESS, finding[0], item.span, finding[1])


def _finding(entry: Destination) -> tuple[str, str] | None:
    """Return the message and the hint about a destination, or None for an ordinary host."""
    if entry.kind == "wildcard":
        message = f"'*.{entry.host}' allows every host below {entry.host}, including future ones"
        return message, "list the hosts that the tool needs"
    if entry.host in METADATA_ADDRESSES or entry.host in _METADATA_NAMES:
        message = f"{entry.host} returns the credentials of the machine on which the tool runs"
        return message, "remove it; pass what the tool needs as a parameter or a secret"
    try:
        address = ipaddress.ip_address(entry.host)
    except ValueError:
        return None
    if address.is_loopback:
        return f"{entry.host} is the machine on which toolc runs, with every service that listens there", "name a host"
    if address.is_link_local:
        return f"{entry.host} is a link-local address, used for automatic configuration", "name a host"
    whose = "of a private network" if address.is_private else "that may belong to another owner later"
    return f"{entry.host} is an address {whose}", "write the host name, which its certificate verifies"


@tool_check("TC503", needs={"annotations", "backend", "sandbox"})
def check_unrestricted_network(tool: LocatedTool) -> Iterator[Diagnostic]:
    """Report ``public:443`` in an allow-list, and ``open_world: true`` without any network.

    The second finding is off by default. MCP's default for ``open_world`` is true, so imported tools often declare it.
    """
    allow = tool.spec.sandbox.network.allow
    if any(each.kind == "public" for each in allow):
        span = tool.span("sandbox", "network", "allow")
        yield Diagnostic(
            codes.ANY_NETWORK, "this tool may connect to any public address",
            tool.source.locate(span, "public:443"), "list the hosts it needs, such as api.example.com:443",
        )  # fmt: skip
    elif tool.spec.annotations.open_world and not allow and isinstance(
        tool.spec.backend, ShellBackend | PythonBackend
    ):  # fmt: skip
        yield Diagnostic(
            codes.NO_NETWORK, "this tool is annotated with open_world: true, but it has no network",
            tool.span("annotations", "open_world"),
            "list the hosts it needs under sandbox: {network: {allow: [...]}}, or write open_world: false",
        )  # fmt: skip
