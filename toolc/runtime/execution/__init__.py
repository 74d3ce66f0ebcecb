"""The pipeline of calls: lookup, admission, validation, hooks, retries and batches.

Start reading in ``single_call``, then ``call_pipeline``. Whether a call may run is decided in this order: lock file,
policy and called tools (``admission``), deny-list (``single_call``), the image (``toolc.runtime.sandboxed.options``).
Commands check the lock file first, in ``toolc.cli.inputs``.

- ``admission``: ``DenyList``; lock file and policy; called tools must be the reviewed ones; features that this version
  cannot run (``unsupported_features``).
- ``async_calls``: calls on a separate thread: events for ``asyncio`` and for generators. Public: ``async_events``,
  ``CallRunner``, ``result``, ``stream_events``, ``WholeBatch``.
- ``batch``: several calls: in parallel, in order, in groups; ids of calls. Public: ``Mode``, ``new_call_id``,
  ``Order``, ``Steer``, ``with_ids``.
- ``call_pipeline``: ``CallPipeline``: the calls of a registry and of its composites; unknown tools (the message is in
  ``toolc.client.registry``).
- ``leftovers``: what dead processes left on this host, for ``toolc gc``. Public: ``survey``.
- ``open_sandbox``: a sandbox of a tool or of a profile that stays open. Public: ``open_profile``, ``open_tool``,
  ``OpenSandbox``.
- ``retry``: whether to repeat a failed call, and how long to wait.
- ``started_ahead``: the sandboxes that the user's configuration asks for, before any call. Public:
  ``start_ahead``.
- ``single_call``: one call: deny-list, validation, confirmation, deadline, attempts.

May import: every package of ``runtime``, and what it may import.
"""
