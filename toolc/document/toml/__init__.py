"""The TOML parser: ``tomli`` reads the values, a scanner finds the positions. Start reading in ``toml_parser``.

- ``positions``: the scanner: positions of keys and values. Public: ``leaves``.
- ``toml_errors``: syntax errors as sentences with hints.
- ``toml_parser``: ``parse_toml``: text to nodes.

May import: ``document`` (``nodes``, ``edits``, ``syntax_errors``) and ``model``.
"""
