"""Specs made from descriptions of other systems, for ``toolc import``: one module per source.

May import: ``toolc.compiler``, ``toolc.backends``, ``toolc.document`` and ``toolc.model``.

Public names: ``adapted``, ``asked_spec``, ``plugin_spec`` (``plugin``).
"""
