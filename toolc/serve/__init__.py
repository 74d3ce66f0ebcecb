"""Serve the tools of a registry to clients: one module per protocol."""
