"""The package ``toolc.runtime.sessions``."""
