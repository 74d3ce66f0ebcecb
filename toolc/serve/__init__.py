"""Servers: a registry offered to MCP clients or to hosts of plugins. One module per protocol.

- ``mcp``: ``make_server``: lists tools, runs calls, errors, cancellation. Start reading here.
- ``mcp_interaction``: asks the user for confirmation (elicitation), sends progress.
- ``mcp_stdio``: MCP over stdin and stdout; signals and the end of the input. Public: ``serve_stdio``.
- ``plugin_server``: the plugin protocol as a server. Public: ``PluginServer``, ``serve_plugin``.

May import: ``client`` and every package below it.
"""
