"""The folder that a call works in. ``transaction`` commits or discards the changes of a call.

- ``busy``: workspaces that a process of an earlier call may still change. Public: ``NOT_ENDED``,
  ``Removal``, ``require_free``.
- ``dir_handle``: opens, writes and renames files without following symbolic links (openat2). Public: ``DirHandle``,
  ``write_all``.
- ``growth``: measures how much a call adds to the disk, and decides when to stop it.
- ``mount``: checks that a folder may be a workspace, which excludes ``/``, home and system folders. Start reading here.
  Public: ``copies_location``, ``scratch_location``, ``state_location``, ``WorkspaceFolder``.
- ``result_folder``: finds and reads files that a call wrote, with the access rights of the tool.
- ``scratch``: creates private temporary folders and removes stale ones. Public: ``make_copy_folder``,
  ``make_scratch``.
- ``scratch_sweep``: cleans up the scratch folders of a dead process. Public: ``discard``, ``remove_tree``.

May import: ``sandbox.host``, ``sandbox.interface``, ``guest`` and ``model``.
"""
