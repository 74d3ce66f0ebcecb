"""The package ``toolc.runtime.http``."""
