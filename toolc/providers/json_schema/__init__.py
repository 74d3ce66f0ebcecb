"""Lowering of JSON Schema to the subsets that providers accept, with a log of what was lost.

- ``lowering``: ``LossLog``, and moving unsupported keywords to descriptions. Start reading here. Public: ``Loss``.
- ``references``: ``$ref``: resolved, recursion; ``allOf`` merged.
- ``strict``: lowers for strict modes, by a ``StrictMode``; the keywords that a provider keeps are in its own module.
  Public: ``CLOSES``.

May import: ``model`` and ``validation``.
"""
