"""The package ``toolc.cli``."""
