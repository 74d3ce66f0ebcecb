"""The fork server of ``lifetime: fork``: process 1 of a sandbox, which forks a process for each call.

- ``fork_supervisor``: process 1. Start reading here. Public: ``main``.
- ``isolation``: the namespaces, file systems, capabilities and seccomp filter of a call's process. Public: ``Setup``,
  ``clone``, ``isolate``.
- ``preloading``: the modules that all calls share, and what these must not leave in the server. Public:
  ``NotSharedError``, ``preload``.

May import: ``frames``, ``json_text``, ``launch_args``, ``preload``, ``processes`` and ``supervisor``. The other side is
in ``toolc.sandbox``.
"""
