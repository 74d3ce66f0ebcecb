"""The pipeline of calls: lookup, admission, validation, hooks, retries and batches.

Start reading in ``single_call``: one call with its deadline, then ``executor``. ``admission`` has the deny list and
checks that called tools are the reviewed ones, ``retry`` decides whether to call again, ``batch`` and
``async_calls`` run several calls, and ``leftovers`` finds what dead processes left.

May import: every package of ``toolc.runtime``, and what it may import.

Public names: ``DenyList``, ``unsupported_features`` (``admission``); ``async_events``, ``CallRunner``, ``result``,
``stream_events``, ``WholeBatch`` (``async_calls``); ``Mode``, ``new_call_id``, ``Order``, ``Steer``, ``with_ids``
(``batch``); ``CallPipeline``, ``execute`` (``executor``); ``survey`` (``leftovers``).
"""
