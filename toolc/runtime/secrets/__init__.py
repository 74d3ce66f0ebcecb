"""The package ``toolc.runtime.secrets``."""
