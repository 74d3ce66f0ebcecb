"""Repositories and changes of specs that tests review."""
