"""Analysis of text for the checks: near-duplicate descriptions and strings that look like secrets.

May import: ``toolc.model``.

Public names: ``DescribedTool``, ``find_near_duplicates``, ``shingles``, ``Similarity``, ``DESCRIPTION_SIMILARITY``
(``near_duplicates``); ``find_secrets``, ``has_long_run``, ``character_table``, ``ALPHANUMERIC`` (``secret_patterns``).
"""
