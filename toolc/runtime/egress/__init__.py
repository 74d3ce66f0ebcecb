"""The package ``toolc.runtime.egress``."""
