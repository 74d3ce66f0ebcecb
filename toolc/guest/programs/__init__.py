"""Several programs at the same time in one worker, and operations on files: the guest of ``toolc.Sandbox``.

- ``files``: reads, writes, lists and removes files. Public: ``run``.
- ``program``: one program in a process of its own. Public: ``Program``, ``Request``, ``SIGNALS``, ``not_started``,
  ``require_orphans``.
- ``server``: the worker: frames of the host to programs. Start reading here. Public: ``serve``.

May import: ``frames``, ``job``, ``processes``, ``streams``. ``toolc.runtime.sessions.programs`` is the other side.
"""
