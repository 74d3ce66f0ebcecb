"""Sandboxes that serve several calls, of one tool or of the tools of one plugin.

- ``forks``: ``ForkServer``, which runs one call at a time, each in an isolated process (``lifetime: fork``).
- ``mcp_client``: ``McpClient``, which connects the official SDK's client to a server. Public: ``Offer``.
- ``mcp_connection``: ``McpConnection``, how a server is connected, and ``SandboxConnection``.
- ``mcp_http``: ``HttpConnection``, to a server at a URL.
- ``mcp_lines``: the messages of an MCP server, within limits. Public: ``MessageReader``, ``ServerError``.
- ``mcp_server``: ``McpServer``, which runs calls of the tools of an MCP server.
- ``pool``: ``Sessions``, which chooses the sandbox of a call and closes idle ones. Start reading here. Public:
  ``IDLE_SECONDS``.
- ``programs``: programs in one sandbox, with the protocol of open sandboxes and shell sessions, without I/O. Public:
  ``OnOutput``, ``ProgramEnd``, ``ProgramRequest``, ``ProgramState``, ``ProgramTable``, ``SIGNALED``, ``TerminalSize``.
- ``sandbox_server``: ``SandboxServer``, which runs calls of a function, program or plugin (``PluginCalls``) in such a
  sandbox.
- ``sandbox_session``: ``SandboxThread``, an open sandbox, and ``SandboxSession``, one with programs, for
  ``toolc.Sandbox``. Public: ``Program``.
- ``servers``: chooses the process for a call (``server_class``), and runs a call in a process of its own
  (``call_once``). Public: ``Server``.

May import: ``runtime.wire`` and the packages below it; ``sandbox``, ``backends`` and ``model``.
"""
