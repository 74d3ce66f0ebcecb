"""The package ``toolc.sandbox.python``."""
