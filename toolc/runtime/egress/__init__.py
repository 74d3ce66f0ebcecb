"""Network connections of a call: decide whether they are allowed, open them, and forward their bytes.

Start reading in ``policy``: ``decide`` finds the entry of the allow-list for a host and a port, ``admit`` selects
the addresses that may be used. ``broker`` opens the connections of a call and logs them, ``connection`` forwards
bytes, ``polling`` resolves names on threads, ``tls_sni`` checks the server name of TLS clients, and ``transport``
is the side of the server.

May import: ``toolc.runtime.secrets``, ``toolc.backends``, ``toolc.guest`` and ``toolc.model``.

Public names: ``Broker``, ``connect``, ``Egress``, ``proxy_hint``, ``RequestHandler``, ``ADDRESS_SECONDS`` (``broker``);
``admit``, ``decide``, ``Decision``, ``LOOPBACK`` (``policy``); ``Resolver`` (``polling``); ``ConnectionRequest``,
``PlainTransport``, ``RefusedError``, ``reset``, ``Transport`` (``transport``).
"""
