"""The package ``toolc.runtime.composite``."""
