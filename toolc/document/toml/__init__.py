"""The TOML parser. ``tomli`` reads the values, and a scanner finds the positions. Start reading in ``toml_parser``.

- ``positions``: the scanner, which finds the positions of keys and values. Public: ``leaves``, ``scan``.
- ``toml_errors``: syntax errors as sentences with hints.
- ``toml_parser``: ``parse_toml`` converts text to nodes.

May import: ``document`` (``nodes``, ``edits``, ``syntax_errors``) and ``model``.
"""
