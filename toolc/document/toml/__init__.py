"""The TOML parser: ``tomli`` reads the values, a scanner finds the positions.

Start reading in ``parser``; ``positions`` is the scanner and ``errors`` the messages.

May import: ``toolc.document`` (``nodes``, ``edits``, ``syntax_errors``) and ``toolc.model``.

Public names: ``parse_toml`` (``parser``); ``leaves`` (``positions``).
"""
