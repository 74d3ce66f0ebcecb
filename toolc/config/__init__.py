"""The package ``toolc.config``."""
