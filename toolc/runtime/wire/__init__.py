"""The package ``toolc.runtime.wire``."""
