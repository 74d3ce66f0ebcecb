"""The host side of HTTP tools: build requests, fill in secrets, request tokens, and connect with TLS.

Start reading in ``broker``. Responses are parsed in the sandbox: see ``toolc.guest.http``. A call is prepared in
``toolc.runtime.sandboxed.call``.

- ``broker``: ``HttpBroker``: makes the requests of the guest, only those of the plan.
- ``message``: what the guest receives: how to read responses, and libraries.
- ``request``: the bytes of a request; where a secret may be sent (``check_secret``); limits of URLs and bodies
  (``MAX_REQUEST_URL``, ``MAX_REQUEST_BODY``); headers, whose number and size are not limited.
- ``token``: OAuth 2.0 access tokens (client credentials), and their cache.
- ``transport``: connects with or without TLS (``connection_to``); certificates.

May import: ``runtime.egress`` and ``secrets``; ``backends``, ``guest`` and ``model``.
"""
