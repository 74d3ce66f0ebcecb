"""The network connections of a call. Decides whether they are allowed, opens them, and forwards their bytes.

- ``broker``: ``Broker``, which opens, limits and logs the connections of a call (``ConnectionLog``), with hints about
  proxies.
- ``connection``: forwards the bytes of one connection, within flow windows.
- ``egress_options``: ``Egress``, what a call says about its connections. Public: ``EXPIRY_SECONDS``, ``Listener``,
  ``RequestHandler``.
- ``egress_policy``: ``decide``, which finds the entry of the allow-list for a host and port, and ``admit``, which
  selects addresses. Start reading here. Public: ``Decision``, ``LOOPBACK``.
- ``http_host``: checks the host that the HTTP/1 requests of a client name.
- ``polling``: resolves names on threads, and polls connections.
- ``tls_sni``: checks the server name that a TLS client sends.
- ``transport``: the server's side of a connection, and ``RefusedError``.

May import: ``runtime.secrets``, ``backends``, ``guest`` and ``model``.
"""
