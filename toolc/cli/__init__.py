"""The command ``toolc``: its options, arguments and exit codes.

Start reading in ``main``, which loads the commands of ``toolc.cli.commands`` by name when they are used. ``common``
has the options and functions that several commands share, ``inputs`` reads arguments, registries, configuration,
secrets and locks, and ``toolc.cli.output`` prints.

May import: everything; no other package imports this one. Inside, the order is ``common``, ``inputs``, ``output``,
``commands``.

Public names: ``note``, ``FINDINGS`` (``common``); ``compile_or_exit``, ``find_registry``,
``read_arguments`` (``inputs``); ``main`` (``main``).
"""
