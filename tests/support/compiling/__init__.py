"""Specs that tests compile, and what is expected of their findings."""
