"""The output of a call: captured, limited, truncated and reported as events.

- ``guest_streams``: the streams of a guest, with flow control, capture, and the longest line of a plugin. Start reading
  here.
- ``progress``: progress and live text as events, and the lines that report progress.
- ``result_store``: ``ResultStore``, for long texts that are read in pages (by ``read_result`` in
  ``toolc.client.executor``).
- ``shown_result``: what a terminal would show of a result (``show_result``).
- ``truncation``: keeps the beginning and the end of streams and results that are too long. Public: ``fit_result``,
  ``fit_to_limit``, ``truncate_result``, ``truncate_text``, ``HeadTailBuffer``, ``READ_RESULT``.

May import: ``runtime.secrets`` and ``workspace``; ``backends``, ``guest`` and ``model``.
"""
