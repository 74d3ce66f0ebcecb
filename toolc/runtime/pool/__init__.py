"""Sandboxes that are started ahead of their calls. Each serves one call, or one session, and is then destroyed.

- ``control``: how other processes inspect the pool of this one. Public: ``PoolReport``, ``reports``.
- ``decision``: ``decide``: a frozen state in, what to start and stop out.
- ``entry``: what is known about one kind of sandbox.
- ``keeper``: the waiting sandboxes of this process: starting, leasing and stopping them.
- ``loop``: the thread that decides.
- ``pool``: ``Pool``, the settings of an executor, and what an executor's calls use. Start reading in ``pool``.
  Public: ``ExecutorPool``, ``Pool``, ``STANDARD``.
- ``pool_sandbox``: one sandbox of a pool: its start, and whether it can still be used.

May import: ``runtime.wire`` and the packages below it; ``sandbox`` and ``model``.
"""
