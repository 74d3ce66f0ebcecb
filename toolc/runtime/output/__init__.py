"""The output of a call: captured, limited, truncated and reported as events.

- ``guest_streams``: the streams of a guest: flow control, what is captured of each, the longest line of a plugin.
  Start reading here.
- ``progress``: progress and live text as events; lines that report progress.
- ``result_store``: ``ResultStore``: long texts, read in pages (``read_result`` is in ``toolc.client.executor``).
- ``truncation``: keeps the beginning and the end of streams and results; results that are too long. Public:
  ``fit_to_limit``, ``truncate_result``, ``HeadTailBuffer``, ``READ_RESULT``.

May import: ``runtime.secrets`` and ``workspace``; ``backends``, ``guest`` and ``model``.
"""
