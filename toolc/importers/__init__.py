"""Generate specs from the descriptions of other systems, for ``toolc import``: one module per source.

May import: ``toolc.compiler``, ``toolc.backends``, ``toolc.document`` and ``toolc.model``.

Public names: ``plugin_spec``, ``provisional_spec``, ``valid_names`` (``plugin``).
"""
