"""The command ``toolc``: its options, arguments and exit codes.

Start reading in ``main``. ``commands`` has one module per command, ``output`` prints for users.

- ``call_options``: ``call_options``: the options of every command with calls, and ``CallOptions`` with their values.
- ``code_owners``: the lines of ``CODEOWNERS`` that ``toolc init`` writes or prints. Public: ``CodeOwners``,
  ``code_owners``, ``owner``, ``repository_top``.
- ``common``: options that several commands have (``--engine``, ``--policy``, ``--format``), and printing of findings.
  Public: ``FINDINGS``, ``note``.
- ``inputs``: arguments of a call, registries, the user's configuration, and whole registries that a lock file or a
  policy does not allow. Public: ``compile_or_exit``.
- ``main``: finds and runs a command by name; signals, standard streams, and errors that reach the top
  (``output.failure``).
- ``terminal``: the standard streams of this process for a program in a sandbox. Public: ``attach``.
- ``tool_templates``: the specs that ``toolc init --tool`` writes. Public: ``missing_variables``, ``tool_template``,
  ``ToolTemplate``.

May import: everything; no other package imports this one. Inside, the order is ``common``, ``code_owners``,
``terminal`` and ``tool_templates``, ``inputs``, ``call_options``, ``output``, ``commands``.
"""
