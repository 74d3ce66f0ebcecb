"""Templates and JMESPath expressions in specs, parsed and checked at build.

Start reading in ``parse``: text to ``toolc.model.template.Template``, with Jinja2's parser. ``expressions`` checks
JMESPath and reads JSON values with templates. ``toolc.model.template`` renders templates at a call.

May import: ``toolc.document``, ``toolc.validation`` and ``toolc.model``.

Public names: ``expression``, ``argument_names``, ``read_json_map``, ``read_json_template``, ``templates_in``
(``expressions``); ``check_name``, ``parse``, ``read_template``, ``Scope``, ``STEP_PROPERTIES`` (``parse``).
"""
