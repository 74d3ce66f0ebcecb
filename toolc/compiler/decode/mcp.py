"""Decode ``backend.mcp``, into which ``servers`` has put the server that it names."""

from __future__ import annotations

from functools import partial
from typing import Final

from toolc.compiler.decode.http import read_auth, read_headers
from toolc.compiler.decode.http_url import read_constant_url
from toolc.compiler.decode.python import requirements
from toolc.compiler.decode.servers import NAME
from toolc.compiler.decode.shell import program
from toolc.compiler.project.files import SpecFolder, match_files
from toolc.compiler.templates.parse import Scope
from toolc.document.declared import alternative, read_keys, read_map
from toolc.document.map_reader import Findings, Reader, list_of, map_parser, mapping, text
from toolc.document.nodes import Mapping, Node, Scalar, to_json
from toolc.model import codes
from toolc.model.json_schema import JsonObject
from toolc.model.spec.http_backend import HttpBackend
from toolc.model.spec.mcp_backend import McpBackend, McpServer

_OF_URL: Final = ("url", "headers", "auth")


@map_parser("backend.mcp")
def decode_mcp(reader: Reader, /, *, folder: SpecFolder, **_: object) -> McpBackend | None:
    """Decode ``backend.mcp``, whose server ``with_server`` has inserted."""
    found = read_map(reader, McpBackend, server=partial(_server, folder=folder), definition=_definition)
    if found is not None and (defined := found.definition.get("name")) != found.tool:
        message = f"the definition is of the tool {defined!r:.80}, not of {found.tool!r:.80}"
        hint = "write what the server sends; see: toolc import mcp --help"
        reader.findings.add(codes.BAD_VALUE, message, reader.node.by_key["definition"].value.span, hint)
    return found


def _server(node: Node, what: str, findings: Findings, *, folder: SpecFolder) -> McpServer | None:
    if isinstance(node, Scalar):
        name = text(node, what, findings)
        if name is not None:
            hint = "declare it under 'servers', next to 'tools' of this file"
            findings.add(codes.DANGLING, f"there is no MCP server '{name[:80]}'", node.span, hint)
        return None
    named = node.get(NAME) if isinstance(node, Mapping) else None
    if not isinstance(node, Mapping) or not isinstance(named, Scalar):
        hint = "write the name of one of 'servers', next to 'tools' of this file"
        findings.add(codes.BAD_VALUE, f"{what} must be the name of an MCP server", node.span, hint)
        return None
    declared = Mapping.of([each for each in node.entries if each.key != NAME], node)
    reader = Reader(declared, f"servers.{named.value}", findings)
    kind, secret = alternative(reader, McpServer), Scope(parameters=None, allows_secrets=True)
    files = list_of(partial(match_files, folder=folder))
    found = read_keys(
        reader, McpServer, command=program, requirements=requirements, files=files, sandbox=None,
        url=read_constant_url, headers=partial(read_headers, scope=secret), auth=partial(read_auth, scope=secret),
    )  # fmt: skip
    reader.close()
    request = {name: found.pop(name) for name in _OF_URL if name in found}
    unique = {file.path: file for group in found.get("files", ()) for file in group}
    found["files"] = tuple(sorted(unique.values(), key=lambda file: file.path))
    if "url" in request:
        found["request"] = HttpBackend(method="POST", **request)
    return McpServer(name=str(named.value), **found) if kind in {*found, *request} else None


def _definition(node: Node, what: str, findings: Findings) -> JsonObject | None:
    value = to_json(root) if (root := mapping(node, what, findings)) is not None else None
    if not isinstance(value, dict):
        return None
    if not isinstance(value.get("inputSchema"), dict):
        findings.add(codes.BAD_VALUE, f"{what} has no 'inputSchema', as each tool of an MCP server has", node.span)
        return None
    return value
