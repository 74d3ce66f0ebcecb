"""Workspaces of mode ``transaction``, in which a call changes a view, and the changes are committed or discarded.

- ``allowed_changes``: the paths that may change: ``writes``, protected paths (``.git``), letter case.
  Public: ``refusal_reason``.
- ``baseline``: records the contents of the workspace when a call begins.
- ``commit``: writes the changes to the real files, with conflicts, modes, owners and access lists.
- ``diff``: finds changes and conflicts by comparing the view, the base and the real files.
- ``file_state``: the kind, mode, owner and content of a path, and copies that keep holes. Public: ``FileState``.
- ``journal``: the plan of a commit on disk.
- ``lock``: the lock of a workspace for one user, which is a file outside of the workspace.
- ``recovery``: rolls back an interrupted commit.
- ``transaction``: ``Transaction``, the view of a call, whose changes are committed or discarded. Start reading here.
- ``upload``: writes a file that a client sent. Public: ``ExistingFileError``, ``write_upload``.
- ``view``: scans the changes in an overlay or a copy, within limits of entries and depth. Public: ``Copy``,
  ``TooManyChangesError``.

May import: ``runtime.workspace``, ``sandbox.host``, ``sandbox.interface`` and ``model``.
"""
