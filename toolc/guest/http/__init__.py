"""HTTP tools inside the sandbox: ask the host for requests, read the responses, return the result.

Start reading in ``tool``, then ``exchange`` (tokens, redirects, retries and pages). ``request`` reads one response
with its size limits, ``parser`` parses HTTP/1.1: the limits of response headers are ``MAX_LINE`` and ``MAX_FIELDS``
there. ``response`` decodes bodies, ``errors`` describes responses that are errors, and ``shaping`` applies
``result.select`` and ``result.template``. Requests are built on the host, in ``toolc.runtime.http``.

May import: ``toolc.guest``.

Public names: ``Exchange`` (``exchange``); ``Requests`` (``request``); ``HttpJob`` (``response``); ``run_call``
(``tool``).
"""
