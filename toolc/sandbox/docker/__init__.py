"""The package ``toolc.sandbox.docker``."""
