"""Parses TOML files with positions."""
