"""``backend.mcp``, a tool of an MCP server whose definition is pinned, and ``servers``, which says how it is reached.

See ``toolc.model.spec.tool`` for the rules. The compiler puts the server of a file into each of its tools, so that a
tool in a registry is complete, and the effect digest covers how its server is started.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final, Literal

from toolc.dataclass import dataclass, field
from toolc.model.json_schema import JsonValue
from toolc.model.spec import keys
from toolc.model.spec.code_backends import BackendTraits, File

if TYPE_CHECKING:
    from toolc.model.spec.http_backend import HttpBackend

_OF_COMMAND: Final = {"url": "only a server with 'command' has requirements and files"}
_OF_URL: Final = {"command": "only a server with 'url' has headers and authentication"}


@dataclass(frozen=True, slots=True, kw_only=True)
class McpServer:
    """One of ``servers``: a program that speaks MCP over stdin and stdout in a sandbox, or the URL of a server.

    ``request`` is how a server at a URL is reached. It has the URL, the headers and the authentication.

    Instead of: args arguments: write command: [PROGRAM, ARGUMENT, ...]
    Instead of: image build workspace network env secrets limits lifetime: write sandbox: {...}
    Instead of: type transport: write 'command' for a server over stdio, or 'url' for one over streamable HTTP
    """

    one_of: ClassVar = ("command", "url")
    name: str = field(metadata=keys.NO_KEY)
    command: tuple[str, ...] = field(default=(), metadata=keys.key(keys.list_of(keys.TEXT, least=1), is_required=False))
    """The program and its arguments. They are not templates.

    Example: [python3, -m, mcp_server_time]
    """
    url: ClassVar = keys.Key(keys.TEXT)
    """The URL of a server that speaks MCP over streamable HTTP, a constant.

    Example: https://mcp.example.com/mcp
    """
    headers: ClassVar = keys.Key(keys.map_of(keys.FIELD), excludes=_OF_URL)
    """The headers of the requests to ``url``. They can contain secrets.

    Example: {X-Tenant: "{{ secrets.TENANT }}"}
    """
    auth: ClassVar = keys.Key(keys.map_at("http_backend.AuthKeys"), excludes=_OF_URL)
    """The authentication of the requests to ``url``.

    Example: {bearer: "{{ secrets.TOKEN }}"}
    """
    request: HttpBackend | None = field(default=None, metadata=keys.STORED_IF_SET)
    requirements: tuple[str, ...] = field(default=(), metadata=keys.key(excludes=_OF_COMMAND))
    """Python packages with exact versions, installed from wheels, which the server can import.

    Example: [mcp-server-time==2025.9.25]
    Instead of: packages pip dependencies
    """
    files: tuple[File, ...] = field(default=(), metadata=keys.key(keys.list_of(keys.TEXT), excludes=_OF_COMMAND))
    """Files that the server needs: patterns of paths relative to the folder of the spec.

    Example: [server.py]
    """
    sandbox: ClassVar = keys.Key(keys.map_at("sandbox.SandboxSpec"))
    """The sandbox of the server, with the keys of ``sandbox`` of a tool.

    Example: {workspace: ro, lifetime: session}
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class McpBackend(BackendTraits):
    """``backend.mcp``: a tool of an MCP server.

    Before each call, the server is asked for its tools. If its definition of the tool is not ``definition``, the call
    fails.
    """

    tag: ClassVar[Literal["mcp"]] = "mcp"
    request_route: ClassVar = ("backend", "mcp", "server")
    lifetimes: ClassVar = frozenset({"call", "session"})
    server: McpServer = field(metadata=keys.key(keys.TEXT))
    """The name of a server in ``servers`` of this file.

    Example: time
    """
    tool: str
    """The name of the tool in the server.

    Example: get_current_time
    """
    definition: dict[str, JsonValue] = field(metadata=keys.key(keys.map_of(keys.JSON)))
    """The definition of the tool as the server sends it. ``toolc import mcp`` writes it.

    Example: {name: get_current_time, inputSchema: {type: object}}
    """

    @property
    def runs_programs(self) -> bool:
        """Whether the server is a program in a sandbox."""
        return self.server.request is None

    @property
    def only_calls(self) -> bool:
        """Whether the server is at a URL, so that nothing of the tool runs here."""
        return self.server.request is not None

    @property
    def request(self) -> HttpBackend | None:  # type: ignore[override]  # as in HttpBackend
        """The requests to a server at a URL."""
        return self.server.request

    @property
    def urls(self) -> tuple[object, ...]:
        """The URL of the server, and the URL of its token endpoint."""
        return self.server.request.urls if self.server.request else ()

    @property
    def programs(self) -> tuple[File, ...]:
        """The files of the server."""
        return self.server.files

    @property
    def packages(self) -> tuple[str, ...]:
        """The requirements of the server."""
        return self.server.requirements
