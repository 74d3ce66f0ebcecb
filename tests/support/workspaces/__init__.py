"""Workspaces, transactions and writers that tests interrupt."""
