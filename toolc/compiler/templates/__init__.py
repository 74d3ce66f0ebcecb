"""Templates and JMESPath expressions in specs, parsed and checked at build. Start reading in ``parse``.

``toolc.model.template`` renders them at a call.

- ``credential``: a template or a literal value that is declared public.
- ``expressions``: JMESPath expressions; JSON values with templates inside (``templates_in``).
- ``parse``: text with ``{{ }}`` to a ``Template``; which names are allowed where (``Scope``).
- ``placeholders``: one placeholder: names, keys and filters, with Jinja2's parser.
- ``result_template``: ``result.template``, full Jinja2: syntax and unknown names.

May import: ``text_analysis``, ``document``, ``validation`` and ``model``.
"""
