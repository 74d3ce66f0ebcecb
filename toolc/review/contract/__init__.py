"""Contract changes: what callers may send and receive, compared keyword by keyword. Start reading in ``changes``.

Input is contravariant: what was accepted must still be accepted. Output is covariant: what may be returned must
have been promised before. A changed keyword is reported once, as narrower or wider, and graded by its side. The
rules follow oasdiff's (``checker/rules.go``) except where docs/guides/reviewing-changes.md says otherwise.

- ``bounds``: keywords with values: bounds, ``pattern``, ``format``, ``enum``, ``const``, ``type``.
- ``changes``: whole tools: names, aliases, annotations, errors, timeout, toolsets.
- ``movement``: one changed keyword: its direction, its rule and its grade.
- ``schemas``: objects, arrays, combined schemas (``anyOf``), and the schemas inside.
- ``witness``: a value that one schema accepts and the other rejects.

May import: ``review.model``, ``compiler.schema``, ``document``, ``validation`` and ``model``.
"""
