"""Edits of spec files. They change spans of the text and keep everything else, including comments.

A finding has its fix from the place that reports it; ``toolc.document.edits`` creates the edits. Start reading in
``apply``.

- ``apply``: ``toolc check --fix``: applies the fixes of findings, and compares the meaning before and after each.
  Public: ``apply_fixes``.
- ``update_tests``: ``toolc test --update``: writes results into the ``tests`` of a spec, as YAML or TOML. Public:
  ``ExpectationUpdate``, ``Route``.

May import: ``compiler`` except ``cache``; ``document`` and ``model``.
"""
