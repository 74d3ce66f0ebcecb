"""The library API: load a registry, lower it for a provider, run its tools, and build specs.

Start reading in ``registry``, then ``executor``. Most of these names are exported by ``toolc`` too.

- ``build``: ``build``: compile specs and write the output folder; ``split_target`` (``PATH#NAME``). Public:
  ``compile_paths``.
- ``executor``: ``Executor``: run calls and batches, blocking or with ``asyncio``; its options, ``deny`` and ``allow``,
  close; the tool ``read_result`` and its page size.
- ``messages``: ``tool_calls`` and ``tool_messages``: hands a provider's messages to its module in ``toolc.providers``.
- ``registry``: ``Registry``: load, combine, filter and describe tools; definitions for a provider.
- ``serialization``: ``result_to_json``, ``event_to_json``.

May import: every package below it: ``compiler``, ``runtime``, ``functions`` and the layers below them.
"""
