"""Run the calls of a file, at most once each, and resume after a crash.

::

    calls.jsonl ──> calls_file ──> runner ──> Executor.run
                                     │  ▲
                                     ▼  │ what has started and ended
                                  journal ──> results.jsonl, results.jsonl.journal

- ``calls_file``: reads and checks the lines of a file of calls. Public: ``CallLine``, ``CallsFile``.
- ``journal``: records on disk which calls have started, and the results of those that have ended. Public: ``Journal``,
  ``Record``.
- ``runner``: ``Runner``, which starts calls and records them. Start reading here. Public: ``MAX_FAILURES``.

May import: ``client`` and the packages below it.
"""
