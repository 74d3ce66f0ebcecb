"""The package ``toolc.model``."""
