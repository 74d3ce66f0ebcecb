"""The TOML parser: ``tomli`` reads the values, a scanner finds the positions. Start reading in ``parser``.

- ``errors``: syntax errors as sentences with hints.
- ``parser``: ``parse_toml``: text to nodes.
- ``positions``: the scanner: positions of keys and values. Public: ``leaves``.

May import: ``document`` (``nodes``, ``edits``, ``syntax_errors``) and ``model``.
"""
