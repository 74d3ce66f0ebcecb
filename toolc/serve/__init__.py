"""Servers: a registry offered to MCP clients or to hosts of plugins. One module per protocol.

Start reading in ``mcp``; ``mcp_stdio`` runs it over stdin and stdout, ``mcp_interaction`` asks the user for
confirmation, ``plugin`` is the plugin protocol.

May import: ``toolc.client`` and every package below it.

Public names: ``make_server`` (``mcp``); ``serve_stdio`` (``mcp_stdio``); ``PluginServer``, ``serve_plugin``
(``plugin``).
"""
