"""Reads YAML and TOML files as trees of nodes with positions, and creates findings and fixes for them."""
