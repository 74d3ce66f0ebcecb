"""The package ``toolc.runtime.workspace``."""
