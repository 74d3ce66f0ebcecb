"""The YAML 1.2 parser, based on PyYAML and libyaml. Start reading in ``yaml_parser``.

- ``builder``: reads values by the core schema ("yes" is text), and limits the expansion of aliases (``MAX_ALIASED``).
- ``compose``: creates PyYAML's nodes, with the maximum depth of ``document.syntax_errors``. Public: ``scalars``.
- ``yaml_errors``: syntax errors as sentences with hints.
- ``yaml_parser``: ``parse_yaml`` converts text to nodes, and reports text that YAML 1.1 or other parsers read
  differently.

May import: ``document`` (``nodes``, ``edits``, ``syntax_errors``) and ``model``.
"""
