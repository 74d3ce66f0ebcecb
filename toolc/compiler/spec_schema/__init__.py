"""The JSON Schemas of spec files and of the project file, for editors, and the effective values of a tool.

Start reading in ``schema``. ``effective`` lists every value of a tool with its origin: the spec, project defaults,
variables, or the format.

May import: ``toolc.compiler.project``, ``decode`` and the packages below them; ``toolc.document`` and
``toolc.model``.

Public names: ``effective``, ``ValueOrigin`` (``effective``); ``as_text``, ``project_schema``, ``spec_schema``
(``schema``).
"""
