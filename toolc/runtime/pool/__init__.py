"""Sandboxes that are started ahead of their calls. Each serves one call, or one session, and is then destroyed.

- ``control``: lets other processes inspect the pool of this process. Public: ``PoolReport``, ``reports``.
- ``decision``: ``decide``, a pure function from a frozen state to the sandboxes to start and stop.
- ``entry``: the state of one kind of sandbox.
- ``keeper``: starts, leases and stops the waiting sandboxes of this process. Public: ``KEEPER``.
- ``loop``: the thread that decides.
- ``pool``: ``Pool``, the settings of an executor, and ``ExecutorPool``, which its calls use. Start reading here.
  Public: ``ExecutorPool``, ``Pool``, ``STANDARD``.
- ``pool_sandbox``: one sandbox of a pool: its start, and whether it can still be used.

May import: ``runtime.wire`` and the packages below it; ``sandbox`` and ``model``.
"""
