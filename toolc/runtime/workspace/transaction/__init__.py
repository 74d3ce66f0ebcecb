"""Workspaces of mode ``transaction``: views, comparison, commit and recovery."""
