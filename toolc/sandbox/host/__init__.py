"""What every engine needs from this machine. ``janitor_process`` and ``mount_helper_process`` import only the standard
library.

- ``cgroups``: control groups: which controllers work, memory events, OOM kills. Public: ``trees``.
- ``janitor``: starts the process that cleans up after this one, and registers what to remove. Public: ``register``.
- ``janitor_process``: the program of the janitor. Public: ``remove_tree``.
- ``kernel``: OOM kills of the host, transient errors at a start (``retry_transient``), overlay mounts. Public:
  ``available_memory``.
- ``live_sandboxes``: ``LiveSandboxes``: the sandboxes of an open engine, and the data that it keeps.
- ``mount_helper``: ``MountHelper``: mounts a workspace in a sandbox that already runs.
- ``mount_helper_process``: the program of the mount helper.
- ``mounts``: detached mounts with flags and mapped ids; mount namespaces of threads.
- ``owner``: ``Owner``: the process that owns a sandbox, and its runtime folder. Start reading here. Public:
  ``directories``, ``shared_directory``.
- ``programs``: starts toolc's own programs, and waits for descriptors.
- ``start_folder``: ``StartFolder``: the links and files that the mounts of a container refer to.
- ``store``: unpacked images, packages and notes on disk: folder, locks, removal. Public: ``scratch_folders``.
- ``store_sweep``: removes unfinished entries of the store. Public: ``remove``.

May import: ``model``.
"""
