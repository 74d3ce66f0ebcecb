"""The command ``toolc``: its options, arguments and exit codes.

Start reading in ``main``. ``commands`` has one module per command, ``output`` prints for users.

- ``code_owners``: the lines of ``CODEOWNERS`` that ``toolc init`` writes or prints. Public: ``CodeOwners``,
  ``code_owners``, ``owner``.
- ``common``: options that several commands have (``--engine``, ``--policy``, ``--format``), and printing of findings.
  Public: ``FINDINGS``, ``note``.
- ``inputs``: arguments of a call, registries, the user's configuration and secrets, approval by the lock file and
  policies. Public: ``compile_or_exit``.
- ``main``: finds and runs a command by name; signals, standard streams, and errors that reach the top
  (``output.failure``).

May import: everything; no other package imports this one. Inside, the order is ``common`` and ``code_owners``,
``inputs``, ``output``, ``commands``.
"""
