"""The JSON Schemas of spec and project files for editors, and the effective values of a tool.

- ``effective``: ``toolc show --effective``: every value with its origin (spec, project defaults, variables, format).
  Public: ``ValueOrigin``.
- ``schema``: ``toolc schema``: assembles the schemas from ``toolc/data/schemas.yaml``. Public: ``as_text``,
  ``project_schema``, ``spec_schema``.

May import: ``compiler.project``, ``decode`` and the packages below them; ``document`` and ``model``.
"""
