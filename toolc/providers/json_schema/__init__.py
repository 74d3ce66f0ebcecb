"""Lowering of JSON Schema to the subsets that providers accept, with a log of what was lost.

Start reading in ``lowering``; ``strict`` is for strict modes, ``references`` resolves ``$ref`` and merges ``allOf``.

May import: ``toolc.model`` and ``toolc.validation``.

Public names: ``Loss``, ``LossLog`` (``lowering``); ``merge_all_of``, ``Recursion``, ``References``
(``references``); ``CLOSES`` (``strict``).
"""
