"""One call in a sandbox: plan it, start it, run it, close it, and read its result.

- ``call``: ``SandboxedCall``, one attempt, with interruptions, blocked connections and uploads of HTTP tools. Start
  reading here. Public: ``describe_plugin``, ``STDOUT_SO_FAR``.
- ``failure_hints``: suggests changes of the spec after a call that lacked a module or the network.
- ``options``: the caller's ``CallOptions``, the ``Profile`` derived from them and the spec, and ``select_approved``.
- ``result_files``: returns files of the workspace (``result.files``).

May import: ``runtime.sessions``, ``wire`` and the packages below them; ``policy``, ``sandbox``, ``backends``,
``guest``, ``data`` and ``model``.
"""
