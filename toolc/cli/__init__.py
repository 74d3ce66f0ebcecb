"""The command ``toolc``: its options, arguments and exit codes.

Start reading in ``main``, which loads the commands of ``toolc.cli.commands`` by name when they are used. ``common``
has the options and functions that several commands share, ``arguments`` reads the arguments of a tool from the
command line, and ``toolc.cli.output`` prints.

May import: everything; no other package imports this one. Inside, the order is ``output`` below ``common`` below
``commands``.

Public names: ``find_registry``, ``read_arguments`` (``arguments``); ``compile_or_exit``, ``note``, ``FINDINGS``
(``common``); ``main`` (``main``).
"""
