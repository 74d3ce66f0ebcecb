"""JSON Schemas in specs: a tool's parameters and the schema of its result. Start reading in ``parameters``.

- ``check_schema``: invalid schemas and keywords that do not work as intended; ``check_instance`` for defaults and
  examples.
- ``dialects``: schemas of older drafts, converted to 2020-12; references.
- ``parameters``: ``parameters``: shorthand (``name?: string``) or full JSON Schema. Public: ``is_full_schema``.
- ``patterns``: regular expressions: syntax, slow patterns, support in JavaScript.
- ``type_names``: names of types in other languages, and what to write for them. Public: ``TYPES``,
  ``TYPE_ALIASES``, ``declared_types``, ``similar_type``, ``type_form``.

May import: ``document``, ``validation`` and ``model``.
"""
