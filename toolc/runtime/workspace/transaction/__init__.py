"""Workspaces of mode ``transaction``: a call changes a view, and the changes are committed or discarded.

Start reading in ``transaction``. ``view`` and ``diff`` find the changes, ``allowed_changes`` decides which are
permitted, ``commit`` writes them, ``journal`` records the plan of a commit, and ``recovery`` rolls back an
interrupted one.

May import: ``toolc.runtime.workspace``, ``toolc.sandbox.host``, ``toolc.sandbox.base`` and ``toolc.model``.

Public names: ``NAMES`` (``journal``); ``recover``, ``Unfinished`` (``recovery``); ``Transaction`` (``transaction``).
"""
