"""Edits of spec files: ``toolc check --fix`` and ``toolc test --update``.

Both change spans of the text and keep everything else, including comments. A finding has its fix from the place
that reports it; ``toolc.document.edits`` creates the edits.

May import: ``toolc.compiler`` except ``cache``; ``toolc.document`` and ``toolc.model``.

Public names: ``apply_fixes`` (``apply``); ``ExpectationUpdate``, ``Route``, ``update_tests`` (``update_tests``).
"""
