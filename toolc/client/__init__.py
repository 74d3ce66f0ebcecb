"""The library API: load a registry, lower it for a provider, run its tools, and build specs.

Start reading in ``registry``, then ``executor``. Most of these names are exported by ``toolc`` too.

- ``build``: ``build``: compile specs and write the output folder; ``split_target`` (``PATH#NAME``). Public:
  ``compile_paths``, ``write_build``.
- ``definitions``: definitions and request options for a provider, within its limits. Public: ``definitions_for``,
  ``limit_problem``, ``request_options_for``.
- ``executor``: ``Executor``: run calls and batches, blocking or with ``asyncio``; its options, ``deny`` and ``allow``,
  close; the tool ``read_result`` and its page size. Public: ``CallableTools``.
- ``messages``: ``tool_calls``, ``tool_messages`` and ``collect_response``: hands a provider's messages to its module in
  ``toolc.providers``. Public: ``acollect_response``.
- ``registry``: ``Registry``: load, combine, filter and describe tools; definitions for a provider.
- ``sandbox``: ``Sandbox``: an open sandbox: commands and files. Public: ``ExecResult``, ``FileEntry``.
- ``serialization``: ``result_to_json``, ``event_to_json``.
- ``typed``: typed clients for ``toolc build --client``.

May import: every package below it: ``compiler``, ``runtime``, ``functions`` and the layers below them.
"""
