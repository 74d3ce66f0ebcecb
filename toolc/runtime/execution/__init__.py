"""The package ``toolc.runtime.execution``."""
