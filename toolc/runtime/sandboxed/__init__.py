"""One call in a sandbox: plan it, start it, run it, close it, and read its result.

- ``call``: ``SandboxedCall``, one attempt. Start reading here.
- ``failure_hints``: suggests changes of the spec after a call that lacked a module or the network.
- ``http_call``: the handler of the requests of an HTTP call, and its uploads.
- ``interruption``: the results of calls that were stopped. Public: ``NOT_STARTED``, ``STDOUT_SO_FAR``,
  ``unanswered``.
- ``options``: the caller's ``CallOptions``, the ``Profile`` derived from them and the spec, and ``select_approved``.
  Public: ``profile_of``.
- ``mcp_offer``: what MCP servers offer now. Public: ``ask_server``, ``server_changes``, ``ServerChanges``.
- ``plugin_description``: the description of a plugin. Public: ``describe_plugin``.
- ``questions``: the questions of MCP servers. Public: ``ask_person``.
- ``result_files``: returns files of the workspace (``result.files``).
- ``shaping``: ``result.select`` and ``result.template``, which are evaluated in a second sandbox.

May import: ``runtime.sessions``, ``wire`` and the packages below them; ``policy``, ``sandbox``, ``backends``,
``guest``, ``data`` and ``model``.
"""
