"""A difference as text, Markdown or JSON. The output is the same bytes for the same difference.

Start reading in ``text``; ``markdown`` is the comment of a pull request, ``machine`` is JSON.

May import: ``toolc.review``, ``toolc.reporters`` and ``toolc.model``.

Public names: ``findings_report``, ``json_report`` (``machine``); ``report`` (``markdown``); ``report`` (``text``).
"""
