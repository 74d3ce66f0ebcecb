"""JSON Schemas in specs: a tool's parameters and the schema of its result. Start reading in ``parameters``.

- ``caller_parameters``: parameters with ``from``, which the host fills in. Public: ``SOURCE``, ``decode_caller``,
  ``without``.
- ``check_schema``: reports invalid schemas and keywords that do not work as intended. ``check_instance`` checks
  defaults and examples.
- ``dialects``: converts schemas of older drafts to 2020-12, and checks references. Public: ``schemas_in``.
- ``parameters``: decodes ``parameters:``, as shorthand (``name?: string``) or full JSON Schema. Public:
  ``FROM``, ``has_from``, ``is_full_schema``, ``parameter_entries``, ``RESERVED``.
- ``patterns``: checks the syntax and the run time of regular expressions.
- ``type_names``: names of types in other languages, and their form in JSON Schema. Public:
  ``TYPE_WORDS``, ``TYPES``, ``TYPE_ALIASES``, ``declared_types``, ``similar_type``, ``type_form``.

May import: ``document``, ``validation`` and ``model``.
"""
