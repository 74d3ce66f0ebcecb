"""The package ``toolc.testing``."""
