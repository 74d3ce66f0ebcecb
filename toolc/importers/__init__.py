"""Generate specs from the descriptions of other systems, for ``toolc import``. There is one module per source.

- ``plugin_spec``: the YAML text of a plugin's spec, and valid names for its tools. Start reading here. Public:
  ``plugin_spec``, ``provisional_spec``, ``valid_names``.

May import: ``compiler``, ``backends``, ``document`` and ``model``.
"""
