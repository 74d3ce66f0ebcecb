"""The package ``toolc.engines``."""
