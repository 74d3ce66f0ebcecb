"""Run a call in a sandbox."""
