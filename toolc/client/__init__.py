"""The package ``toolc.client``."""
