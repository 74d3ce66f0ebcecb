"""Compile spec files: each file alone, then the checks across files."""
