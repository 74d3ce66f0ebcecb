"""Run programs in one worker, several at a time, and operations on files, for open sandboxes and shell sessions.

- ``file_operations``: reads, writes, lists and removes files. Public: ``run``.
- ``process``: the process of a program, with or without a supervising process. Public: ``ChildProcess``, ``Request``,
  ``SIGNALS``, ``SupervisedProcess``, ``not_started``, ``require_orphans``.
- ``program``: the streams of a program, and its end. Public: ``Program``.
- ``program_server``: the worker, which passes frames between the host and programs. Start reading here. Public:
  ``serve``.

May import: ``frames``, ``job``, ``processes``, ``streams``. The host's side is ``toolc.runtime.sessions.programs``.
"""
