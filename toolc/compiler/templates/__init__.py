"""Templates and JMESPath expressions in specs, which are parsed and checked at build. Start reading in ``parse``.

``toolc.model.template`` renders them when a tool is called.

- ``credential``: a template or a literal value that is declared public.
- ``expressions``: JMESPath expressions, and JSON values with templates inside (``templates_in``).
- ``parse``: converts text with ``{{ }}`` to a ``Template``, and checks which names are allowed in a place (``Scope``).
  Public: ``WORDS``.
- ``placeholders``: parses the names, keys and filters of one placeholder with Jinja2's parser.
- ``result_template``: checks the syntax and the names in ``result.template``, which is full Jinja2.

May import: ``text_analysis``, ``document``, ``validation`` and ``model``.
"""
