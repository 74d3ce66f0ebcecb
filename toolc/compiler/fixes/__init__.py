"""Edits of spec files. They change spans of the text and keep everything else, including comments.

The code that reports a finding also provides its fix. ``toolc.document.edits`` creates the edits. Start reading in
``apply``.

- ``apply``: ``toolc check --fix``: applies the fixes of findings, and compares the meaning before and after each one.
  Public: ``apply_fix``, ``apply_fixes``, ``rewrite``.
- ``update_tests``: ``toolc test --update``: writes results into the ``tests`` of a spec, as YAML or TOML. Public:
  ``ExpectationUpdate``, ``Route``.

May import: ``compiler`` except ``cache``; ``document`` and ``model``.
"""
