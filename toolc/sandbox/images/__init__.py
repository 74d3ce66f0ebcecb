"""The package ``toolc.sandbox.images``."""
