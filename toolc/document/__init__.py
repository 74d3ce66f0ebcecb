"""The package ``toolc.document``."""
