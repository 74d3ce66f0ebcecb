"""The host side of HTTP tools: build requests, fill in secrets, get tokens, and connect with TLS.

Start reading in ``broker``: it sends only requests of the plan. ``request`` writes the bytes of a request; limits
of request headers, URLs and bodies belong there (``MAX_URL``, ``MAX_BODY``, ``fill_header``). ``token`` gets OAuth
2.0 access tokens, ``transport`` connects, ``call`` and ``message`` prepare the guest. Responses are parsed in the
sandbox: the limits of their headers are in ``toolc.guest.http.parser``.

May import: ``toolc.runtime.egress``, ``secrets`` and ``workspace``; ``toolc.backends``, ``toolc.guest`` and
``toolc.model``.

Public names: ``prepare_http_call`` (``call``); ``http_message``, ``interim_details``, ``libraries``, ``ADDRESS``
(``message``); ``parse_url``, ``MAX_BODY`` (``request``); ``TlsTransport`` (``transport``).
"""
