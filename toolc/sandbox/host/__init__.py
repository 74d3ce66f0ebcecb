"""What every engine needs of this machine. ``janitor_process`` and ``mount_helper_process`` import the standard
library only.

- ``cgroups``: control groups: which controllers work, memory events, OOM kills. Public: ``trees``.
- ``janitor``: starts the process that cleans up after this one, and what it must remove. Public: ``register``.
- ``janitor_process``: the program of the janitor. Public: ``remove_tree``.
- ``kernel``: OOM kills of the host, transient errors at a start (``retry_transient``), overlay mounts. Public:
  ``available_memory``.
- ``live_sandboxes``: ``LiveSandboxes``: what an engine has while it is open; starting and closing.
- ``mount_helper``: ``MountHelper``: mounts a workspace in a sandbox that already runs.
- ``mount_helper_process``: the program of the mount helper.
- ``mounts``: detached mounts with flags and mapped ids; mount namespaces of threads.
- ``owner``: ``Owner``: the process of a sandbox, and whether it is dead; runtime folders. Start reading here. Public:
  ``directories``, ``shared_directory``.
- ``programs``: starts toolc's own programs; waits for descriptors.
- ``start_folder``: ``StartFolder``: the links and files that the mounts of a container refer to.
- ``store``: unpacked images, packages and notes on disk: folder, locks, removal. Public: ``scratch_folders``.
- ``store_sweep``: removes unfinished entries of the store. Public: ``remove``.

May import: ``model``.
"""
