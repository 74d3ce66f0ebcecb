"""Put the MCP server that a tool names, one of ``servers`` of its file, into the tool, before it is decoded."""

from __future__ import annotations

from typing import Final

from toolc.document.map_reader import Findings
from toolc.document.nodes import Mapping, MappingEntry, Node, Scalar
from toolc.model import codes

_ROUTE: Final = ("backend", "mcp", "server")

NAME: Final = " name"
"""The key of the name in the map of a server that ``with_server`` inserts. The map of a file has no such key."""


def with_server(tool: Mapping, servers: Mapping | None, findings: Findings) -> Mapping:
    """Return a tool with the map of its server in the place of the server's name, and with the server's sandbox.

    All tools of a server share its process, so the tool cannot have a sandbox of its own, which is reported.
    """
    named = _at(tool, *_ROUTE)
    server = servers.get(named.value) if servers and isinstance(named, Scalar) and type(named.value) is str else None
    if not isinstance(named, Scalar) or not isinstance(server, Mapping):
        return tool
    if own := tool.entry("sandbox"):
        message = f"the server '{named.value}' has the sandbox, which all its tools share"
        findings.add(codes.BAD_VALUE, message, own.key_span, f"move it to servers.{named.value}.sandbox")
    entries = [each for each in server.entries if each.key != "sandbox"]
    complete = Mapping.of([MappingEntry(NAME, named.place, named), *entries], server)
    changed = _replaced(tool, _ROUTE, complete)
    sandbox = server.entry("sandbox")
    return Mapping.of([*changed.entries, *([sandbox] if sandbox and not own else [])], changed)


def _at(node: Node | None, *route: str) -> Node | None:
    for key in route:
        node = node.get(key) if isinstance(node, Mapping) else None
    return node


def _replaced(node: Mapping, route: tuple[str, ...], value: Node) -> Mapping:
    """Return a map in which the value at ``route``, which exists, is ``value``."""
    entry = node.by_key[route[0]]
    if len(route) > 1:
        assert isinstance(entry.value, Mapping)
        value = _replaced(entry.value, route[1:], value)
    return Mapping({**node.by_key, entry.key: entry._replace(value=value)}, node)
