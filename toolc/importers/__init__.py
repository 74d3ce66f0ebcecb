"""Generate specs from the descriptions of other systems, for ``toolc import``.

An importer is a pure function from a source and options to the text of spec files. It never runs what it reads, and
never writes a registry. People review and edit the files. Later imports merge changes of the source into them.

- ``openapi``: the package for OpenAPI documents. Start reading in ``openapi.generate``.
- ``definitions``: specs from tool definitions of providers (``definition_specs``), and ``tool_of`` one. Public:
  ``HINTS``.
- ``mcp_spec``: the YAML text of the spec of an MCP server. Public: ``mcp_spec``, ``mcp_tools``, ``provisional_spec``,
  ``remove_invalid_tools``, ``McpSource``.
- ``python``: the package for Python functions. Start reading in ``python.generate``.
- ``plugin_spec``: the YAML text of a plugin's spec, and valid names for its tools. Public: ``plugin_spec``,
  ``provisional_spec``, ``valid_names``.
- ``fetching``: reads a URL, with the checks of addresses that tools have. Public: ``destination_of``, ``fetch``.
- ``record``: ``Record``, what an import generated, in ``.toolc-import/NAME.json``. Public: ``digest_of``,
  ``read_record``, ``FOLDER``.
- ``merge``: merges a change of the source into a file that people have edited, by keys (``merge``, ``Conflict``).
  Public: ``edited``, ``Merged``, ``UnreadableError``.
- ``changes``: the changes of an import to the files of a folder (``changes``, ``write``). Public: ``FileChange``.
- ``checked_files``: removes generated specs that have errors (``remove_invalid``). Public: ``check_text``.
- ``script_options``: the arguments that a script declares (``ScriptOption``). Public: ``python_options``,
  ``shell_options``.
- ``skill``: specs for the scripts of an Agent Skill. Public: ``skill_specs``.
- ``tool_names``: the names of imported tools, with a prefix or renamed. Public: ``ToolNames``.
- ``yaml_text``: writes YAML in block style. Public: ``yaml_flow``, ``yaml_lines``, ``yaml_text``.

May import: ``runtime`` (``egress`` and ``http`` only), ``compiler``, ``backends``, ``data``, ``document``,
``validation`` and ``model``.
"""
