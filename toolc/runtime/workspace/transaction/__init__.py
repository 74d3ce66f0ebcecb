"""Workspaces of mode ``transaction``: a call changes a view, and the changes are committed or discarded.

- ``allowed_changes``: which paths may change: ``writes``, protected paths (``.git``), letter case.
- ``baseline``: records what the workspace had when a call began.
- ``commit``: writes the changes to the real files; conflicts, modes, owners, access lists.
- ``diff``: compares the view, the base and the real files: changes and conflicts.
- ``file_state``: kind, mode, owner and content of a path; copies with holes.
- ``journal``: the plan of a commit on disk.
- ``lock``: the lock of a workspace for one user, a file outside of it.
- ``recovery``: rolls back an interrupted commit.
- ``transaction``: ``Transaction``: the view of a call, proposal, commit or discard. Start reading here.
- ``view``: scans what changed: overlay or copy; limits of entries and depth.

May import: ``runtime.workspace``, ``sandbox.host``, ``sandbox.interface`` and ``model``.
"""
