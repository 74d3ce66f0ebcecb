"""Sandboxes that serve several calls: of one tool, or of the tools of one plugin.

- ``pool``: ``Sessions``: which sandbox serves a call, idle time, closing. Start reading here. Public: ``IDLE_SECONDS``.
- ``server``: ``SandboxServer``: one call of a function, program or plugin (``PluginCalls``) in such a sandbox.

May import: ``runtime.wire`` and the packages below it; ``sandbox``, ``backends`` and ``model``.
"""
