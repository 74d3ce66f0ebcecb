"""One call in a sandbox: plan it, start it, run it, close it, and read its result.

Start reading in ``call``. ``options`` has the caller's options and derives the profile of the sandbox from them and
the spec, and ``result_files`` returns files of the workspace.

May import: ``toolc.runtime.sessions``, ``wire`` and the packages below them; ``toolc.policy``, ``toolc.sandbox``,
``toolc.backends``, ``toolc.guest`` and ``toolc.model``.

Public names: ``describe_plugin``, ``STDOUT_SO_FAR`` (``call``); ``CallOptions`` (``options``).
"""
