"""The pipeline of calls: lookup, admission, validation, hooks, retries and batches.

Start reading in ``single_call``, then ``call_pipeline``. Whether a call may run is decided in this order: lock file,
policy and called tools (``admission``), deny-list (``single_call``), the image (``toolc.runtime.sandboxed.options``).
Commands check the lock file first, in ``toolc.cli.inputs``.

- ``admission``: the ``DenyList``, the lock file and the policy; tools that call others than were reviewed; features
  that this version cannot run (``unsupported_features``). Public: ``ReviewedTools``, ``check_admission``.
- ``async_calls``: calls on a separate thread, with events for ``asyncio`` and for generators. Public: ``async_events``,
  ``CallRunner``, ``no_more``, ``result``, ``stream_events``.
- ``batch``: several calls in parallel, in order, or in groups, and the ids of calls. Public: ``Mode``, ``new_call_id``,
  ``Order``, ``Steer``, ``with_ids``.
- ``call_pipeline``: ``CallPipeline``, for the calls of a registry and of its composites, and for unknown tools (the
  message is in ``toolc.client.registry``). Public: ``Find``.
- ``leftovers``: files and processes of dead processes on this host, for ``toolc gc``. Public: ``survey``.
- ``open_sandbox``: a sandbox of a tool or of a profile that stays open. Public: ``open_profile``, ``open_tool``,
  ``OpenSandbox``, ``PROFILE_NAME``.
- ``retry``: whether to repeat a failed call, and how long to wait.
- ``started_ahead``: the sandboxes that the user's configuration starts before any call. Public: ``start_ahead``.
- ``single_call``: one call: deny-list, validation, confirmation, deadline, attempts. Public: ``Call``.

May import: every package of ``runtime``, and what it may import.
"""
