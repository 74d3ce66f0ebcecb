"""Sandboxes that serve several calls: of one tool, or of the tools of one plugin.

Start reading in ``pool``; ``server`` runs one call in such a sandbox and speaks the plugin protocol.

May import: ``toolc.runtime.wire`` and the packages below it; ``toolc.sandbox``, ``toolc.backends`` and
``toolc.model``.

Public names: ``Sessions``, ``IDLE_SECONDS`` (``pool``); ``call_once``, ``PluginCalls``, ``start_request``
(``server``).
"""
