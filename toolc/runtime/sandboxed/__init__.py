"""One call in a sandbox: plan it, start it, run it, close it, and read its result.

- ``call``: ``SandboxedCall``: one attempt; interrupted calls, blocked connections, uploads of HTTP tools. Start reading
  here. Public: ``describe_plugin``, ``STDOUT_SO_FAR``.
- ``failure_hints``: what to write in the spec after a call that lacked a module or the network.
- ``options``: ``CallOptions`` of the caller, the ``Profile`` derived from them and the spec, ``select_approved``.
- ``result_files``: ``result.files``: returns files of the workspace.

May import: ``runtime.sessions``, ``wire`` and the packages below them; ``policy``, ``sandbox``, ``backends``,
``guest``, ``data`` and ``model``.
"""
