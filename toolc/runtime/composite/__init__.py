"""Composites (``backend.composite``): calls of other tools in sequence, in parallel, or the first that fits.

- ``composed_call``: ``ComposedCall``: a call without a sandbox, also of agents and functions.
- ``composite``: runs the steps by their strategy. Start reading here.
- ``steps``: conditions (``when``), arguments from earlier steps, the combined result.

May import: ``runtime.sandboxed`` and the packages below it in ``runtime``; ``model``. It must not import ``agents``.
"""
