"""The package ``toolc.runtime.output``."""
