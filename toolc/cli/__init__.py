"""The command ``toolc``: its options, arguments and exit codes.

Start reading in ``main``. ``commands`` has one module per command, ``output`` prints for users.

- ``call_options``: the options of every command that runs calls, and ``CallOptions``, which holds their values.
- ``client_file``: the configuration file of an MCP client, for ``toolc connect``. Public: ``ClientFile``.
- ``code_owners``: the lines of ``CODEOWNERS`` that ``toolc init`` writes or prints. Public: ``CodeOwners``,
  ``code_owners``, ``owner``, ``repository_top``.
- ``common``: options that several commands have (``--engine``, ``--policy``, ``--format``), and printing of findings.
  Public: ``FINDINGS``, ``note``.
- ``first_tool``: what the first tool of ``toolc init`` calls. Public: ``KINDS``, ``import_arguments``.
- ``http_options``: the options of ``toolc serve`` for HTTP (``HttpOptions``), and the start message. Public:
  ``http_options``, ``print_start``.
- ``import_changes``: writes the files of an import, and reports conflicts. Public: ``apply_import``, ``checked``,
  ``conclude``, ``import_options``, ``name_choice``, ``name_options``, ``renamed``, ``report_conflicts``,
  ``report_findings``, ``report_left_out``, ``texts``, ``tool_names``, ``LeftOutPart``.
- ``inputs``: reads arguments and the user's configuration.
- ``main``: finds a command by name and runs it. Handles signals, standard streams, and errors that reach the top
  (``output.failure``).
- ``mcp_sources``: MCP servers of PyPI, npm and clients, for ``toolc import mcp``. Public: ``name_of``, ``package_of``,
  ``servers_in``, ``with_npm``, ``with_pip``.
- ``package_versions``: the versions of the packages that imported code needs. Public: ``pinned``,
  ``requirement_option``, ``PackageVersions``.
- ``process_specs``: starts plugins and MCP servers to ask for their tools. Public: ``compiled_tool``, ``modeline``,
  ``process_options``, ``spec_files``, ``variable``.
- ``targets``: opens specs and registries, and refuses those that a lock file or a policy does not allow. Public:
  ``compile_or_exit``.
- ``terminal``: connects the standard streams of this process to a program in a sandbox. Public: ``attach``.
- ``tool_templates``: the specs that ``toolc init --tool`` writes. Public: ``missing_variables``, ``tool_template``,
  ``ToolTemplate``.

May import: everything; no other package imports this one. Inside, the order is ``client_file``, ``common``,
``code_owners``, ``terminal`` and ``tool_templates``, ``inputs`` and ``targets``, ``call_options`` and
``http_options``, ``output``, ``commands``.
"""
