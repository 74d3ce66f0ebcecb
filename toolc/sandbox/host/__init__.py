"""What every engine needs of this machine: owners, cleanup, cgroups, the kernel and the on-disk store.

Start reading in ``owner``: a sandbox belongs to a process that later processes can prove dead. ``janitor`` and
``janitor_process`` clean up after a process, ``store`` keeps unpacked images and packages, ``store_sweep`` removes
unfinished entries, ``cgroups`` and ``kernel`` read limits and errors.

May import: ``toolc.model``. ``janitor_process`` and ``store_sweep`` run as scripts and import the standard library
only.

Public names: ``trees`` (``cgroups``); ``register_folders`` (``janitor``); ``remove_tree`` (``janitor_process``);
``is_transient``, ``kernel_kills``, ``oom_kill_possible``, ``retry_transient``, ``KILLED_FROM_OUTSIDE``
(``kernel``); ``directories``, ``Owner`` (``owner``); ``scratch_folders`` (``store``); ``remove`` (``store_sweep``).
"""
