"""The compiler: from spec files to a registry and the definitions for each provider.

It reads files, but never runs a tool and never reads environment variables. Start reading in ``pipeline.compile``.
The phases are ``project``, ``decode``, ``checks`` and ``build_output``.

- ``build_output``: writes the files of a build (``registry.json``, provider files) and replaces the folder atomically.
  Public: ``Built``, ``REGISTRY_NAME``, ``is_counted``, ``render``, ``write_output``.
- ``cache``: results reused between runs. ``fixes``: edits of specs.
- ``checks``: reports findings about decoded tools. Its helper is ``text_analysis`` (similar texts, secrets in texts).
- ``decode``: reads each tool of a document into a ``ToolSpec``. Its helpers are ``schema`` (JSON Schemas in specs) and
  ``templates`` (placeholders and JMESPath).
- ``editor_schema``: ``toolc schema``: the JSON Schemas of spec and project files, from ``toolc.model.spec``.
  Public: ``as_text``, ``project_schema``, ``spec_schema``.
- ``effective_values``: ``toolc show --effective``: every value of a tool with its origin. Public: ``effective``,
  ``ValueOrigin``.
- ``mcp_definitions``: ``toolc check --mcp``: which clients refuse which definitions of an MCP server. Public:
  ``check_answer``.
- ``located_tool``: ``LocatedTool``: a decoded tool, the positions of its keys, and its texts that a model reads.
- ``pipeline``: runs the phases over all files.
- ``project``: reads the project file, settings, policies and variables, and finds spec files.

May import: ``document``, ``validation``, ``data``, ``policy``, ``providers`` and ``model``; never ``runtime``. The
order of the packages inside is a contract in pyproject.toml.
"""
