"""The host side of HTTP tools: build requests, fill in secrets, request tokens, and connect with TLS.

Start reading in ``broker``. Responses are parsed in the sandbox: see ``toolc.guest.http``. A call is prepared in
``toolc.runtime.sandboxed.call``.

- ``broker``: ``HttpBroker``, which makes the guest's requests if they are those of the plan.
- ``exchange``: ``Exchange``, a request of the host itself, for models and MCP servers.
- ``message``: the message to the guest, with instructions for reading responses, and libraries.
- ``request``: the bytes of a request, where a secret may be sent (``check_secret``), and the limits of URLs and bodies
  (``MAX_REQUEST_URL``, ``MAX_REQUEST_BODY``, ``parse_url``, ``Target``). The number and size of headers are not
  limited.
- ``token``: OAuth 2.0 access tokens (client credentials), and their cache.
- ``transport``: connects with or without TLS (``connection_to``), and verifies certificates.

May import: ``runtime.egress`` and ``secrets``; ``backends``, ``guest`` and ``model``.
"""
