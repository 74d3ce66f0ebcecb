"""JSON Schemas in specs: a tool's parameters and the schema of its result.

Start reading in ``parameters``, which reads the shorthand and full JSON Schema. ``check_schema`` reports invalid
and misleading schemas, ``dialects`` accepts older drafts, ``patterns`` checks regular expressions, and ``shapes``
derives which values a schema can accept.

May import: ``toolc.document``, ``toolc.validation`` and ``toolc.model``.

Public names: ``check_instance``, ``check_schema`` (``check_schema``); ``is_full_schema`` (``parameters``);
``check_pattern`` (``patterns``); ``describe_types``, ``Shape``, ``ANYTHING``, ``TEXT`` (``shapes``).
"""
