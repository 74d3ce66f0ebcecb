"""Composites (``backend.composite``), which call other tools in sequence, in parallel, or the first that fits.

- ``composed_call``: ``ComposedCall``, a call of a composite, an agent or a function, which has no sandbox.
- ``composite``: runs the steps by their strategy. Start reading here.
- ``steps``: conditions (``when``), arguments from earlier steps, the combined result.

May import: ``runtime.sandboxed`` and the packages below it in ``runtime``; ``model``. It must not import ``agents``.
"""
