"""Composites (``backend.composite``): calls of other tools in sequence, in parallel, or the first that fits.

Start reading in ``composite``. ``call`` is a call without a sandbox, also used for agents and functions; ``steps``
has the results and arguments of steps.

May import: ``toolc.runtime.sandboxed`` and the packages below it in ``toolc.runtime``; ``toolc.model``. It must not
import ``agents``.

Public names: ``ComposedCall`` (``call``); ``composed``, ``COMPOSED`` (``composite``).
"""
