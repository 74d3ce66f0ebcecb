"""The package ``toolc.sandbox.host``."""
