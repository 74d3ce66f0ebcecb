"""The output of a call: captured, limited, truncated and reported as events.

Start reading in ``guest_streams``, the limits of each stream. ``truncation`` keeps the beginning and the end of
streams and results, ``progress`` emits progress and live text, ``result_store`` stores full texts for
``read_result``.

May import: ``toolc.runtime.secrets`` and ``workspace``; ``toolc.backends``, ``toolc.guest`` and ``toolc.model``.

Public names: ``call_outputs``, ``DelimitedOutput``, ``LineOutput``, ``Output``, ``session_outputs``
(``guest_streams``); ``EventEmitter``, ``LiveText``, ``LiveTextStream``, ``OutputSink``, ``ProgressReporter``,
``update_event``, ``UpdateSink``, ``MAX_MESSAGE`` (``progress``); ``ResultStore`` (``result_store``);
``fit_to_limit``, ``truncate_result``, ``READ_RESULT``, ``STORED_STREAM_BYTES`` (``truncation``).
"""
