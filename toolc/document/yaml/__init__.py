"""Parses YAML files with positions, by the core schema of YAML 1.2."""
