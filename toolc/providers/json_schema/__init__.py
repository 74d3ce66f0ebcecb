"""Lowering of JSON Schema to the subsets that providers accept, with a log of what was lost.

- ``lowering``: ``LossLog``, plain definitions, and descriptions. Start reading here. Public: ``Loss``, ``LossKind``,
  ``description``, ``description_without_result``.
- ``embedding``: a schema inside another document.
- ``keywords``: the table: which keywords each target keeps, folds, drops or refuses. Public: ``Rule``, ``Subset``,
  ``rules_of``.
- ``passes``: the passes that targets share, one change of a subschema each.
- ``references``: ``$ref``: resolved, recursion; ``allOf`` merged. Public: ``References``, ``merge_all_of``.
- ``result_schema``: ``result.schema`` in short for a description, and as the schema of an object. Public:
  ``is_wrapped``.
- ``target``: lowers a schema by the passes of a ``Target``. Public: ``Node``, ``NotStrictError``, ``Place``,
  ``SchemaPass``, ``lower_schema``.
- ``values``: the values of ``enum`` and ``const`` by type.

May import: ``model`` and ``validation``.
"""
