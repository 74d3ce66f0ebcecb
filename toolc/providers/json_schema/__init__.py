"""Lowering of JSON Schema to the subsets that providers accept, with a log of the losses.

- ``lowering``: ``LossLog``, plain definitions, and descriptions. Start reading here. Public: ``Loss``, ``LossKind``,
  ``description``, ``description_without_result``.
- ``embedding``: places a schema inside another document.
- ``keywords``: the table of keywords that each target keeps, folds, drops or refuses. Public: ``Rule``, ``Subset``,
  ``rules_of``.
- ``passes``: the passes that targets share. Each changes a subschema in one way.
- ``portable``: changes a schema where a client of MCP or its provider refuses it.
- ``portable_rules``: the table of what they refuse. Public: ``PROVIDERS``, ``Refusal``, ``Rule``, ``clients``.
- ``references``: resolves ``$ref``, finds recursion, and merges ``allOf``. Public: ``References``,
  ``merge_all_of``.
- ``result_schema``: ``result.schema`` in a short form for descriptions, and as the schema of an object. Public:
  ``is_wrapped``.
- ``target``: lowers a schema by the passes of a ``Target``. Public: ``Node``, ``NotStrictError``, ``Place``,
  ``SchemaPass``, ``lower_schema``.
- ``values``: the values of ``enum`` and ``const`` by type.

May import: ``model`` and ``validation``.
"""
