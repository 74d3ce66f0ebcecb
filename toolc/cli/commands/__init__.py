"""The commands: one module per command, named after it (``import_`` is ``toolc import``).

Each module defines one click command or group. ``toolc.cli.main`` imports it by name when the command runs, so that
``toolc --version`` starts quickly; for the same reason the commands import most packages inside their functions. To
add a command, add its module here and its name in ``toolc.cli.main``. Options that several commands have are in
``toolc.cli.common``.

May import: every package.
"""
