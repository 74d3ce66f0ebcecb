"""HTTP tools inside the sandbox: let the host send requests, read the responses, return the result.

Start reading in ``http_tool``, then ``exchange``. Requests are built on the host, in ``toolc.runtime.http``.

- ``body``: the body of a response as JSON, text, image or file; charsets; which error rule applies.
- ``cookies``: the cookies that redirects set, until the call ends.
- ``exchange``: the requests of a call: renewal of tokens, redirects, retries, pagination.
- ``http_tool``: runs the call and writes its result.
- ``response_errors``: responses with an error status: kind and message, ``Retry-After`` and rate-limit headers.
- ``response_parser``: HTTP/1.1: status line, headers (``MAX_LINE``, ``MAX_FIELDS``) and chunked bodies. The host uses
  it too. Public: ``CHUNK``, ``Head``, ``LENGTH``, ``open_stream``, ``read_body``, ``read_head``, ``ResponseError``.
- ``round_trip``: ``Requests``: one request and its response; decompression and size limits (``MAX_RESPONSE_BODY``).
- ``shaping``: ``result.select`` (JMESPath) and ``result.template`` (Jinja2).

May import: ``guest``.
"""
