"""Generate the YAML text of the spec of an MCP server, with a tool for each definition that the server sends."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

from toolc.dataclass import dataclass, field, replace
from toolc.importers.checked_files import Invalid, remove_invalid
from toolc.importers.definitions import tool_of
from toolc.importers.tool_names import ToolNames
from toolc.importers.yaml_text import yaml_text
from toolc.model.errors import UsageError
from toolc.model.json_schema import JsonObject, map_under


@dataclass(frozen=True, slots=True, kw_only=True)
class McpSource:
    """How an MCP server is started or reached. The fields are keys of ``servers`` in a spec."""

    name: str
    command: tuple[str, ...] = ()
    url: str = ""
    headers: JsonObject = field(default_factory=dict)
    auth: JsonObject = field(default_factory=dict)
    requirements: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    sandbox: JsonObject

    def entry(self) -> JsonObject:
        """Return the entry of ``servers``."""
        entry: JsonObject = {"url": self.url} if self.url else {"command": [*self.command]}
        entry |= {"headers": self.headers, "auth": self.auth}
        entry |= {"requirements": [*self.requirements], "files": [*self.files], "sandbox": self.sandbox}
        return {key: each for key, each in entry.items() if each}


def provisional_spec(source: McpSource) -> str:
    """Return the YAML text of a spec that is sufficient to start a server and ask for its tools."""
    definition: JsonObject = {"name": "server", "inputSchema": {"type": "object"}}
    return mcp_spec(source, [_tool(source, "server", definition | {"description": "A server without a description."})])


def mcp_tools(
    source: McpSource, definitions: Sequence[JsonObject], only: Sequence[str], names: ToolNames
) -> dict[str, JsonObject]:
    """Return the tools of a spec by their names on the server, which must match a pattern in ``only`` if it has any.

    Raises ``UsageError``.
    """
    offered = {str(each.get("name")): each for each in definitions}
    if len(offered) < len(definitions):
        raise UsageError(f"the server {source.name} lists several tools with one name; in MCP, each tool needs its own")
    ours = dict(zip(offered, names.of([*offered], [*offered]), strict=True))
    chosen = [name for name in offered if not only or any(fnmatchcase(name, each) for each in only)]
    if not chosen:
        raise UsageError(f"the server {source.name} has no such tool; it has {', '.join(sorted(offered)) or 'none'}")
    return {name: _tool(source, ours[name], offered[name]) for name in chosen}


def remove_invalid_tools(source: McpSource, tools: dict[str, JsonObject]) -> Invalid:
    """Compile each tool separately and remove the tools with errors. Return their errors by tool name."""
    sandbox: JsonObject = {key: each for key, each in source.sandbox.items() if key != "build"}
    alone = replace(source, files=(), sandbox=sandbox)  # files next to the spec are not there
    files = {f"{tool['name']}.yaml": mcp_spec(alone, [tool]) for tool in tools.values()}
    names = dict(zip(files, tools, strict=True))
    found = remove_invalid(files)
    for file in found.removed:
        del tools[names[file]]
    findings = [f"{names[file]}: {text.lstrip('0123456789: ')}" for file, _, text in (
        each.partition(":") for each in found.findings
    )]  # fmt: skip
    return Invalid({names[file]: reason for file, reason in found.removed.items()}, findings)


def mcp_spec(source: McpSource, tools: Iterable[JsonObject]) -> str:
    """Return the YAML text of the spec of a server."""
    return yaml_text({"toolc": 1, "servers": {source.name: source.entry()}, "tools": [*tools]})


def _tool(source: McpSource, name: str, definition: JsonObject) -> JsonObject:
    backend: JsonObject = {"server": source.name, "tool": definition.get("name"), "definition": definition}
    tool = tool_of(name, definition) | {"backend": {"mcp": backend}}
    result = map_under(definition, "outputSchema")
    return tool | ({"result": {"schema": result}} if result else {})
