"""Programs in one worker, several at the same time, and operations on files: open sandboxes and shell sessions.

- ``files``: reads, writes, lists and removes files. Public: ``run``.
- ``process``: the process of a program, with or without one that supervises it. Public: ``ChildProcess``, ``Request``,
  ``SIGNALS``, ``SupervisedProcess``, ``not_started``, ``require_orphans``.
- ``program``: the streams of a program, and its end. Public: ``Program``.
- ``server``: the worker: frames of the host to programs. Start reading here. Public: ``serve``.

May import: ``frames``, ``job``, ``processes``, ``streams``. ``toolc.runtime.sessions.programs`` is the other side.
"""
