"""The package ``toolc.doctor``."""
