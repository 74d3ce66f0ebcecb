"""Servers that offer the tools of a registry to MCP clients, to hosts of plugins, and to people.

``http`` serves several clients, and ``page`` is the page that people open.

``search`` finds tools for ``--search``.

- ``input_lines``: the lines of a client, with a maximum length.
- ``client_roots``: the workspace of a client over stdio, from its roots. Public: ``RootWorkspace``.
- ``confirmations``: calls that wait for a reviewer. Public: ``Confirmations``, ``refuse``.
- ``issuer_keys``: the current public keys of an issuer of JWTs. Public: ``ALGORITHMS``, ``IssuerKeys``,
  ``NoKeysError``, ``Read``, ``RETRY_SECONDS``, ``parse_keys``, ``read_keys``.
- ``mcp``: ``make_server``, which lists tools and runs calls, with errors and cancellation. Start reading here. Public:
  ``make_shared_server``.
- ``mcp_call``: the results and errors of calls as MCP's types.
- ``mcp_clients``: the files and entries of MCP clients, from ``toolc/data/mcp_clients.toml``. Public: ``McpClient``.
- ``mcp_interaction``: asks the user for confirmation (elicitation), and sends progress.
- ``mcp_messages``: the messages in a line, or the error that answers it.
- ``mcp_options``: the options of a server beyond its tools. Public: ``McpOptions``.
- ``mcp_stdio``: MCP over stdin and stdout, with signals and the end of the input. Public: ``serve_stdio``.
- ``offered``: which tools a client is offered, and which are denied. Public: ``check_denied``,
  ``check_search``, ``deny``, ``needing_workspace``, ``with_tags``, ``without``.
- ``plugin_server``: a server of the plugin protocol. Public: ``PluginServer``, ``serve_plugin``.
- ``served_client``: a client, its quotas and its running calls. Public: ``ServedClient``, ``ServerCalls``.
- ``status``: asks running servers for their state and for links to sign in. Public: ``ask_servers``, ``status_folder``.
- ``tasks``: long calls as tasks (SEP-2663).
- ``tokens``: the tokens of clients, stored as digests. Public: ``Token``, ``TokenFile``, ``digest_of``.

May import: ``client`` and every package below it.
"""
