"""Workspaces of mode ``transaction``: a call changes a view, and the changes are committed or discarded.

- ``allowed_changes``: which paths may change: ``writes``, protected paths (``.git``), letter case.
- ``commit``: writes the changes to the real files; conflicts, modes, owners, access lists.
- ``diff``: compares the view with the real files.
- ``journal``: the plan of a commit on disk, and locks of the workspace.
- ``recovery``: rolls back an interrupted commit.
- ``transaction``: ``Transaction``: the view of a call, proposal, commit or discard. Start reading here.
- ``view``: scans what changed: overlay or copy; limits of entries and depth.

May import: ``runtime.workspace``, ``sandbox.host``, ``sandbox.base`` and ``model``.
"""
