"""Tools over HTTP: ``/mcp``, ``/api/v1``, and the checks that every request passes before it reaches a tool.

- ``api``: the routes of ``/api/v1``, and their OpenAPI document (``api.json``). Public: ``Api``, ``api_document``.
- ``api_calls``: calls over ``/api/v1``, their events and results. Public: ``ApiCalls``.
- ``catalog_api``: ``/catalog`` and ``/review`` for the page. Public: ``CatalogApi``.
- ``settings``: the address of the server, and the hosts and origins that it accepts. Public: ``ConfirmMode``,
  ``HttpSettings``, ``parse_settings``.
- ``host``: the tools, clients and calls that all routes share. Public: ``ClientSettingsFile``, ``HttpHost``.
- ``gate``: Host, Origin, authentication, rates and the size of requests. Public: ``LOCAL``, ``Gate``, ``Caller``.
- ``jwt_callers``: who sends a JWT, and what its scopes allow.
- ``sign_in``: sign-in links for the page, sessions, and their route. Public: ``Session``, ``SignIn``.
- ``problems``: errors as problem documents (RFC 9457). Public: ``problem``, ``retry_later``.
- ``mcp_endpoint``: MCP over streamable HTTP, with resumable streams.
- ``page``: the files of the page at ``/``, and its Content-Security-Policy. Public: ``page_routes``.
- ``reload``: later generations of the tools, on SIGHUP and with ``--watch``. Public: ``Reloader``.
- ``status_socket``: answers ``toolc serve --status`` and ``toolc token link``. Public: ``StatusSocket``.
- ``telemetry``: refused requests in metrics, and traces that clients continue. Public: ``Watched``,
  ``prometheus_meter``.
- ``workspace_api``: ``/workspace``, files that a client writes. Public: ``upload_route``.
- ``application``: the routes. Public: ``make_app``.
- ``listener``: sockets, slow connections, signals and shutdown. Public: ``serve_http``. Start reading here.

May import: ``serve``, and what it may import.
"""
