"""The fork server of ``lifetime: fork``: process 1 of a sandbox, which makes a process for each call.

- ``isolation``: namespaces, file systems, capabilities and filter of the process of one call. Public: ``Setup``,
  ``clone``, ``isolate``.
- ``preloading``: modules that all calls share, and what they must not leave in the server. Public: ``NotSharedError``,
  ``preload``.
- ``server``: process 1. Start reading here. Public: ``main``.

May import: ``frames``, ``json_text``, ``launch_args``, ``preload``, ``processes`` and ``supervisor``. The other side is
in ``toolc.sandbox``.
"""
