"""The library API: load a registry, lower it for a provider, run its tools, and build specs.

Start reading in ``registry``, then ``executor``. Most of these names are exported by ``toolc`` too.

- ``audit``: the audit log of this process. Public: ``audit_files``.
- ``build``: ``build``, which compiles specs and writes the output folder, and ``split_target`` for ``PATH#NAME``.
  Public: ``compile_paths``, ``write_build``.
- ``call_forms``: the forms of a blocking method for ``asyncio`` and as an iterator of events.
- ``definitions``: definitions and request options for a provider, within its limits. Public: ``definitions_for``,
  ``limit_problem``, ``request_options_for``.
- ``executor``: ``Executor``, which runs calls and batches, blocking or with ``asyncio``, and can deny tools. Public:
  ``CallableTools``.
- ``messages``: ``tool_calls``, ``tool_messages`` and ``collect_response``, which pass a provider's messages to its
  module in ``toolc.providers``. Public: ``acollect_response``.
- ``read_result``: the tool ``read_result`` and its page size. Public: ``read_result_tool``.
- ``registry``: ``Registry``, which loads, combines, filters and describes tools. Public: ``ToolCollection``.
- ``sandbox``: ``Sandbox``, an open sandbox with its commands and files. Public: ``ExecResult``, ``FileEntry``,
  ``MAX_FILE_BYTES``, ``open_sandbox``.
- ``serialization``: ``result_to_json``, ``event_to_json``.
- ``skill``: ``skill_text``, an Agent Skill whose instructions call tools.
- ``typed``: typed clients for ``toolc build --client``.

May import: every package below it: ``compiler``, ``runtime``, ``functions`` and the layers below them.
"""
