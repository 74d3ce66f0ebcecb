"""Network connections of a call: decide whether they are allowed, open them, and forward their bytes.

- ``broker``: ``Broker``: opens the connections of a call, limits and logs them (``ConnectionLog``); hints about
  proxies.
- ``connection``: forwards the bytes of one connection, within flow windows.
- ``egress_policy``: ``decide``: the entry of the allow-list for a host and port, wildcards; ``admit``: addresses. Start
  reading here.
- ``http_host``: checks the host that the HTTP/1 requests of a client name.
- ``polling``: resolves names on threads; polls connections.
- ``tls_sni``: checks the server name that a TLS client sends.
- ``transport``: the server's side of a connection, and ``RefusedError``.

May import: ``runtime.secrets``, ``backends``, ``guest`` and ``model``.
"""
