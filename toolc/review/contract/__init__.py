"""Contract changes: what callers may send and receive, compared keyword by keyword. Start reading in ``changes``.

Input is contravariant: values that were accepted must still be accepted. Output is covariant: values that may be
returned must have been allowed before. A changed keyword is reported once. It is breaking if a search finds a value
that it refuses, or cannot prove that there is none.

These modules find the changes:

- ``changes``: whole tools: names, aliases, annotations, errors, timeout, toolsets.
- ``schemas``: objects, arrays, combined schemas (``anyOf``), and the schemas inside.
- ``bounds``: keywords with values: bounds, ``pattern``, ``format``, ``enum``, ``const``, ``type``.
- ``movement``: one changed keyword: its rule and its grade.
- ``places``: the same place in both schemas, and the old schema with a change only there.
- ``simplified``: both schemas without combinations that only one of them needs.
- ``verdicts``: the grade of each change, with a value from ``toolc.validation.witness`` that the change refuses.

May import: ``review.model``, ``compiler.schema``, ``document``, ``validation`` and ``model``.
"""
