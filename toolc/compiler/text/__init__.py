"""Analysis of text for the checks: near-duplicate descriptions and strings that look like secrets.

May import: ``toolc.model``.

Public names: ``Described``, ``find_near_duplicates``, ``shingles``, ``Similarity``, ``WORDINGS``
(``near_duplicates``); ``find_secrets``, ``has_long_run``, ``table``, ``ALPHANUMERIC`` (``secret_patterns``).
"""
