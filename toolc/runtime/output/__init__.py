"""The output of a call: captured, limited, truncated and reported as events.

Start reading in ``guest_streams``, the limits of each stream. ``capture`` keeps the beginning and the end of a
stream, ``progress`` emits progress and live text, ``truncation`` shortens results and stores the full text for
``read_result``.

May import: ``toolc.runtime.secrets`` and ``workspace``; ``toolc.backends``, ``toolc.guest`` and ``toolc.model``.

Public names: ``call_outputs``, ``DelimitedOutput``, ``LineOutput``, ``Output``, ``session_outputs``
(``guest_streams``); ``EventEmitter``, ``LiveText``, ``LiveTextStream``, ``OutputSink``, ``Reports``, ``update``,
``UpdateSink``, ``MAX_MESSAGE`` (``progress``); ``ResultStore``, ``READ_RESULT`` (``truncation``).
"""
