"""The package ``toolc.runtime.agents``."""
